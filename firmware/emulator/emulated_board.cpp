// SPDX-License-Identifier: Apache-2.0
#include "emulated_board.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace {

const double BYTES_A_TICK = messages::BAUD / 10.0 / 1000.0;
const size_t TRANSMIT_BUFFER = 256;
const double WATCHDOG_MS = 250;

}  // namespace

EmulatedBoard::EmulatedBoard(const ArmDescription& arm, const std::array<double, 3>& start, bool homed)
    : arm_(arm), plant_(arm, start.data()), start_(start), homed_(homed) {
  reset(messages::ResetCause::POWER_ON);
}

bool EmulatedBoard::Transmitter::send(const uint8_t* frame, uint8_t count) {
  if (bytes.size() + count > TRANSMIT_BUFFER) return false;
  bytes.insert(bytes.end(), frame, frame + count);
  return true;
}

void EmulatedBoard::reset(uint8_t cause) {
  transmitter_.bytes.clear();
  arrived_.clear();
  drive_.fill(0);
  if (board_) homed_ = false;
  board_.reset(new Board(transmitter_, eeprom_, cause));
  board_->start();
}

void EmulatedBoard::write(const uint8_t* bytes, size_t count) {
  from_host_.insert(from_host_.end(), bytes, bytes + count);
}

size_t EmulatedBoard::read(uint8_t* bytes, size_t most) {
  size_t count = 0;
  for (; count < most && !to_host_.empty(); ++count) {
    bytes[count] = to_host_.front();
    to_host_.pop_front();
  }
  return count;
}

void EmulatedBoard::pass_line(std::deque<uint8_t>* from, LineFaults* faults, std::deque<uint8_t>* to) {
  std::uniform_real_distribution<double> chance(0, 1);
  for (int i = 0; i < static_cast<int>(line_credit_) && !from->empty(); ++i) {
    uint8_t byte = from->front();
    from->pop_front();
    if (silent_ms_ > 0) continue;
    if (faults->drop > 0 && chance(random_) < faults->drop) continue;
    if (faults->garble_next > 0 || (faults->garble > 0 && chance(random_) < faults->garble)) {
      byte = static_cast<uint8_t>(byte ^ (1 + random_() % 255));
      if (faults->garble_next > 0) --faults->garble_next;
    }
    faults->under_way.emplace_back(ticks_ + faults->delay, byte);
    if (faults->duplicate > 0 && chance(random_) < faults->duplicate) {
      faults->under_way.emplace_back(ticks_ + faults->delay, byte);
    }
  }
  for (; !faults->under_way.empty() && faults->under_way.front().first <= ticks_; faults->under_way.pop_front()) {
    to->push_back(faults->under_way.front().second);
  }
}

void EmulatedBoard::sense(Inputs* inputs) {
  std::uniform_real_distribution<double> chance(0, 1);
  *inputs = Inputs();
  inputs->emergency_stop_open = stop_open_;
  for (int j = 0; j < 3; ++j) {
    const int64_t counts = plant_.counts(j);
    inputs->steps[j] = static_cast<int8_t>(counts - counted_[j]);
    counted_[j] = counts;
    if (noise_[j] > 0 && chance(random_) < noise_[j] * 1e-3) inputs->illegal[j] = 1;
    if (plant_.switch_closed(j)) inputs->home_switches = static_cast<uint8_t>(inputs->home_switches | (1 << j));
  }
}

void EmulatedBoard::know_positions() {
  Control& control = board_->control();
  for (uint8_t j = 0; j < 3; ++j) {
    const double scale = arm_.counts_per_revolution[j] / (2 * M_PI);
    if ((control.known() & (1 << j)) != 0 || control.settings(j).q8_per_urad_q26 == 0) continue;
    const int32_t counts = static_cast<int32_t>(std::floor(plant_.position(j) * scale));
    control.shift(j, counts - control.snapshot().position[j]);
    control.set_known(j, true);
  }
}

void EmulatedBoard::tick() {
  ++ticks_;
  plant_.advance(1e-3, drive_.data());
  line_credit_ += BYTES_A_TICK;
  pass_line(&from_host_, &receive_faults_, &arrived_);
  pass_line(&transmitter_.bytes, &transmit_faults_, &to_host_);
  line_credit_ -= static_cast<int>(line_credit_);
  if (silent_ms_ > 0) --silent_ms_;
  if (frozen_ms_ > 0) {
    // A program that stands still leaves the motors as they are, until the watchdog has it start anew.
    arrived_.clear();
    ++frozen_for_ms_;
    if (--frozen_ms_ > 0 && frozen_for_ms_ < WATCHDOG_MS) return;
    if (frozen_for_ms_ >= WATCHDOG_MS) reset(messages::ResetCause::WATCHDOG);
    frozen_ms_ = frozen_for_ms_ = 0;
  }
  Inputs inputs;
  sense(&inputs);
  const int16_t* drive = board_->control().step(inputs);
  for (int j = 0; j < 3; ++j) drive_[j] = static_cast<double>(drive[j]) / DRIVE_TOP;
  const uint32_t now_us = board_->control().snapshot().time_us;
  for (; !arrived_.empty(); arrived_.pop_front()) board_->receive(arrived_.front(), now_us);
  if (homed_) know_positions();
  Panel panel = Panel();
  panel.now_us = now_us;
  panel.button_pressed = button_;
  panel.object_felt = object_;
  board_->poll(panel);
}

double EmulatedBoard::take_unplug() {
  const double seconds = unplug_;
  unplug_ = 0;
  return seconds;
}

std::string EmulatedBoard::command(const std::string& text) {
  std::stringstream words(text);
  std::string verb;
  double value = 0;
  int joint = 0;
  words >> verb;
  if (verb.empty()) return "";
  if (verb == "reset") {
    reset(messages::ResetCause::EXTERNAL);
    return "";
  }
  const bool for_joint = verb == "stuck" || verb == "dead_switch" || verb == "noise";
  if (for_joint) words >> joint;
  words >> value;
  if (words.fail() || joint < 0 || joint > 2)
    return text + ": expected " + verb + (for_joint ? " JOINT" : "") + " NUMBER";
  if (verb == "garble")
    receive_faults_.garble = transmit_faults_.garble = value;
  else if (verb == "drop")
    receive_faults_.drop = transmit_faults_.drop = value;
  else if (verb == "duplicate")
    receive_faults_.duplicate = transmit_faults_.duplicate = value;
  else if (verb == "delay")
    receive_faults_.delay = transmit_faults_.delay = static_cast<uint64_t>(std::max(value, 0.0) * 1e3);
  else if (verb == "garble_from_host")
    receive_faults_.garble_next = static_cast<int>(value);
  else if (verb == "garble_to_host")
    transmit_faults_.garble_next = static_cast<int>(value);
  else if (verb == "silence")
    silent_ms_ = value * 1e3;
  else if (verb == "freeze")
    frozen_ms_ = value * 1e3;
  else if (verb == "overrun")
    for (int i = 0; i < static_cast<int>(value); ++i) board_->control().overrun();
  else if (verb == "flip_eeprom")
    eeprom_.flip(static_cast<size_t>(std::max(value, 0.0)));
  else if (verb == "unplug")
    unplug_ = value;
  else if (verb == "payload")
    plant_.set_payload(value);
  else if (verb == "button")
    button_ = value != 0;
  else if (verb == "grasp")
    object_ = value != 0;
  else if (verb == "emergency_stop")
    stop_open_ = value != 0;
  else if (verb == "stuck")
    plant_.set_stuck(joint, value != 0);
  else if (verb == "dead_switch")
    plant_.set_dead_switch(joint, value != 0);
  else if (verb == "noise")
    noise_[joint] = value;
  else
    return text +
           ": unknown; there are reset, unplug, silence, freeze, overrun, flip_eeprom, garble, drop, duplicate, delay, "
           "garble_from_host, garble_to_host, stuck, dead_switch, noise, payload, button, grasp and emergency_stop";
  return "";
}
