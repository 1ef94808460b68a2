// SPDX-License-Identifier: Apache-2.0
#include "pseudo_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <system_error>

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

PseudoTerminal::PseudoTerminal(const std::string& link) : link_(link) {
  master_ = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) fail("opening a pseudo-terminal");
  name_ = ptsname(master_);
  // Opening the other end once sets it raw; closing it again makes poll() tell when a host comes.
  const int slave = open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) fail("opening " + name_);
  termios attributes;
  if (tcgetattr(slave, &attributes) != 0) fail("reading the settings of " + name_);
  cfmakeraw(&attributes);
  cfsetspeed(&attributes, B115200);
  if (tcsetattr(slave, TCSANOW, &attributes) != 0) fail("setting " + name_ + " raw");
  close(slave);
  if (link_.empty()) return;
  const std::string made = link_ + "." + std::to_string(getpid());
  unlink(made.c_str());
  if (symlink(name_.c_str(), made.c_str()) != 0 || rename(made.c_str(), link_.c_str()) != 0)
    fail("making the link " + link_);
}

PseudoTerminal::~PseudoTerminal() {
  close(master_);
  if (link_.empty()) return;
  // Another emulator may have taken the path over.
  char target[PATH_MAX];
  const ssize_t length = readlink(link_.c_str(), target, sizeof target - 1);
  if (length > 0 && name_ == std::string(target, static_cast<size_t>(length))) unlink(link_.c_str());
}

bool PseudoTerminal::is_open() const {
  pollfd one = {master_, POLLIN, 0};
  return poll(&one, 1, 0) >= 0 && (one.revents & POLLHUP) == 0;
}

size_t PseudoTerminal::read(uint8_t* bytes, size_t most) {
  const ssize_t count = ::read(master_, bytes, most);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

void PseudoTerminal::write(const uint8_t* bytes, size_t count) {
  while (count > 0) {
    const ssize_t done = ::write(master_, bytes, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    bytes += done;
    count -= static_cast<size_t>(done);
  }
}
