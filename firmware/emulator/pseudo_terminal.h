// SPDX-License-Identifier: Apache-2.0
// The board's end of a pseudo-terminal, with a symbolic link to the host's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

class PseudoTerminal {
 public:
  // link: path of the symbolic link; empty for none. Throws std::system_error.
  explicit PseudoTerminal(const std::string& link);
  ~PseudoTerminal();
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  const std::string& name() const { return name_; }
  int descriptor() const { return master_; }
  // True while a host has the port open.
  bool is_open() const;
  // Neither waits. Bytes that nobody takes are lost, as on a wire.
  size_t read(uint8_t* bytes, size_t most);
  void write(const uint8_t* bytes, size_t count);

 private:
  int master_ = -1;
  std::string name_;
  std::string link_;
};
