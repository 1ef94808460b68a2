// SPDX-License-Identifier: Apache-2.0
// manipulator3d_emulator: the emulated board behind a pseudo-terminal, in real time.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "emulated_board.h"
#include "pseudo_terminal.h"
#include "record.h"

namespace {

const char USAGE[] =
    "usage: manipulator3d_emulator [--link PATH] [--arm-file FILE] [--start Q0,Q1,Q2] [--homed] [--record FILE]\n"
    "                              [--supply-resistance OHM]\n"
    "Runs the firmware with motors and encoders behind a pseudo-terminal, whose name it prints.\n"
    "  --link PATH            makes PATH a symbolic link to the pseudo-terminal\n"
    "  --arm-file FILE        lengths, masses, limits: lines of key=value\n"
    "  --start Q0,Q1,Q2       where the joints stand, in rad (default 0,1.2,-1.6)\n"
    "  --homed                the positions are known from the start\n"
    "  --record FILE          writes the plant's motion as CSV, 100 lines a second\n"
    "  --supply-resistance R  the motor supply sags by R ohm times the current\n"
    "Lines on standard input inject faults: reset, unplug S, silence S, freeze S, overrun N, flip_eeprom ADDRESS,\n"
    "garble P, drop P, duplicate P, delay S, garble_from_host N, garble_to_host N, stuck JOINT 0|1,\n"
    "dead_switch JOINT 0|1, noise JOINT HZ, payload KG, button 0|1, grasp 0|1, emergency_stop 0|1.\n";

// Milliseconds that it makes up for after it has not been run; more than that is left out of the board's time.
const int64_t CATCH_UP_MS = 20;
const int64_t TICK_NS = 1000000;

volatile sig_atomic_t stopped = 0;

void stop(int) { stopped = 1; }

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

struct Options {
  std::string link, record;
  std::array<double, 3> start = {{0.0, 1.2, -1.6}};
  bool homed = false;
  ArmDescription arm;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("cannot read the arm file " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--help") {
      std::fputs(USAGE, stdout);
      std::exit(0);
    }
    if (name == "--homed") {
      options.homed = true;
      continue;
    }
    if (i + 1 == count) throw std::invalid_argument(name + ": unknown, or its value is missing");
    const std::string value = arguments[++i];
    if (name == "--link") {
      options.link = value;
    } else if (name == "--record") {
      options.record = value;
    } else if (name == "--arm-file") {
      options.arm.read(text_of(value));
    } else if (name == "--supply-resistance") {
      options.arm.read("supply_resistance=" + value);
    } else if (name == "--start") {
      char rest;
      if (std::sscanf(value.c_str(), "%lf,%lf,%lf%c", &options.start[0], &options.start[1], &options.start[2], &rest) !=
          3) {
        throw std::invalid_argument("--start " + value + ": expected three angles in rad, separated by commas");
      }
    } else {
      throw std::invalid_argument(name + ": unknown option");
    }
  }
  return options;
}

// Reads commands from standard input as they come, line by line.
class Commands {
 public:
  Commands() { fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK); }

  void run(EmulatedBoard* board) {
    char bytes[256];
    while (!ended_) {
      const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      // A terminal in the background, or no input at all: nothing will come.
      if (count == 0 || (count < 0 && errno != EAGAIN)) ended_ = true;
      if (count <= 0) break;
      text_.append(bytes, static_cast<size_t>(count));
    }
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      const std::string error = board->command(text_.substr(0, end));
      if (!error.empty()) std::fprintf(stderr, "manipulator3d_emulator: %s\n", error.c_str());
    }
  }

 private:
  std::string text_;
  bool ended_ = false;
};

class Emulator {
 public:
  explicit Emulator(const Options& options)
      : options_(options),
        board_(options.arm, options.start, options.homed),
        terminal_(new PseudoTerminal(options.link)) {
    if (!options.record.empty()) record_.reset(new Record(options.record));
    std::printf("%s\n", terminal_->name().c_str());
    std::fflush(stdout);
  }

  void run() {
    int64_t due = now_ns() + TICK_NS;
    while (stopped == 0) {
      wait_until(due);
      const int64_t late = now_ns() - due;
      if (late > CATCH_UP_MS * TICK_NS) due += late - CATCH_UP_MS * TICK_NS;
      receive();
      for (; stopped == 0 && due <= now_ns(); due += TICK_NS) tick();
      transmit();
    }
  }

 private:
  void wait_until(int64_t when) {
    timespec time;
    time.tv_sec = static_cast<time_t>(when / 1000000000);
    time.tv_nsec = static_cast<long>(when % 1000000000);
    while (stopped == 0 && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) continue;
  }

  void tick() {
    board_.tick();
    ++ticks_;
    if (ticks_ % 10 == 0) {
      commands_.run(&board_);
      if (record_) record_->write(board_);
    }
    const double unplug = board_.take_unplug();
    if (unplug > 0) {
      terminal_.reset();
      plug_tick_ = ticks_ + static_cast<int64_t>(unplug * 1e3);
    }
    if (!terminal_ && ticks_ >= plug_tick_) terminal_.reset(new PseudoTerminal(options_.link));
  }

  void receive() {
    uint8_t bytes[512];
    if (!terminal_ || !terminal_->is_open()) return;
    const size_t count = terminal_->read(bytes, sizeof bytes);
    board_.write(bytes, count);
  }

  void transmit() {
    uint8_t bytes[512];
    const size_t count = board_.read(bytes, sizeof bytes);
    if (count > 0 && terminal_ && terminal_->is_open()) terminal_->write(bytes, count);
  }

  const Options& options_;
  EmulatedBoard board_;
  std::unique_ptr<PseudoTerminal> terminal_;
  std::unique_ptr<Record> record_;
  Commands commands_;
  int64_t ticks_ = 0;
  int64_t plug_tick_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = parse(count, arguments);
    struct sigaction action = {};
    action.sa_handler = stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 50000UL);
    Emulator(options).run();
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "manipulator3d_emulator: %s\n%s", error.what(), USAGE);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "manipulator3d_emulator: %s\n", error.what());
    return 1;
  }
}
