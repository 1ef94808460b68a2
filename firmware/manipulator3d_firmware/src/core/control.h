// SPDX-License-Identifier: Apache-2.0
// What happens in the control interrupt, once a millisecond: measuring, interpolating, supervising and driving.
#pragma once

#include <stdint.h>

#include "joint_settings.h"
#include "setpoint_queue.h"

// What the hardware has seen since the last tick.
struct Inputs {
  int8_t steps[JOINTS];     // encoder counts
  uint8_t illegal[JOINTS];  // illegal encoder transitions
  uint8_t home_switches;    // bit j: that of joint j is closed
  bool emergency_stop_open;
};

// How the commanded motion comes about.
enum class Motion : uint8_t {
  RAMP,    // the velocity goes to `goal_velocity` at the acceleration limit; at zero that is the brake and the hold
  FOLLOW,  // segments of the queue
};

// State that the interrupt writes, copied for the main loop.
struct Snapshot {
  uint32_t tick;
  uint32_t time_us;
  int32_t position[JOINTS];            // counts
  int32_t velocity_q16[JOINTS];        // counts per tick
  int32_t commanded_velocity[JOINTS];  // Q24
  int16_t drive[JOINTS];
  uint8_t mode;
  uint8_t fault;
  uint8_t fault_joint;
  uint8_t home_switches;
  bool emergency_stop_open;
  bool powered;
  bool moving;
};

class Control {
 public:
  Control();

  // For the interrupt. Returns the drives, of which DRIVE_TOP is full, in the sense of the motors.
  const int16_t* step(const Inputs& inputs);
  // The interrupt missed its period.
  void overrun();

  // For the main loop; each keeps the interrupt away for as short as possible.
  Snapshot snapshot() const;
  void set_joint(uint8_t joint, const JointSettings& settings);
  void set_board(uint16_t silence_ms, bool has_emergency_stop);
  void hear();     // the host is alive
  void hold();     // powers if need be, brakes, empties the queue
  void release();  // motors off, mode IDLE
  void track();    // HOLD first
  void start_homing();
  void finish_homing();
  void ramp(uint8_t joint, int32_t velocity);  // goal velocity, Q24; 0 brakes
  void shift(uint8_t joint, int32_t counts);   // moves the origin: adds to the measured and the commanded position
  void set_known(uint8_t joint, bool known);
  void fault(uint8_t code, uint8_t joint);
  bool reset();  // false while the cause is still there or a joint moves
  // Appends a knot; returns 0, or a messages::Reason and its joint.
  uint8_t append(const Knot& knot, uint8_t* joint);

  // Changes with every tick; may be read at any time.
  uint8_t tick_low() const { return tick_low_; }
  // With the interrupt kept away.
  uint32_t time_us() const { return time_us_; }

  const JointSettings& settings(uint8_t joint) const { return settings_[joint]; }
  uint8_t known() const { return known_; }
  uint8_t queue_depth() const { return queue_.depth(); }
  uint16_t illegal(uint8_t joint) const;
  uint16_t overruns() const;
  uint16_t underflows() const;

 private:
  // What the tick does with the commanded motion.
  enum class Advance : uint8_t {
    NONE,   // the motors are off
    RAMP,   // to the goal velocity
    CUBIC,  // on in the present segment
    LOAD,   // the next segment begins
    END,    // the last segment has ended
  };

  void debounce(uint8_t now);
  void check_stop();
  void count_illegal(const uint8_t* illegal);
  void supervise();
  void supervise_joint(uint8_t j);
  Advance next_advance();
  void apply(Advance advance);
  static const uint8_t STOP_OPEN = 0x80;

  bool stop_open() const { return (inputs_ & STOP_OPEN) != 0 && has_stop_; }
  bool switch_is_misplaced(uint8_t j) const;
  void power_off();
  void stop_and_hold();
  void power_on();
  void raise(uint8_t code, uint8_t joint);
  bool still() const;
  bool predict(uint32_t ahead, Knot* knot) const;
  void wait_for_start(const Knot& knot, Knot* from) const;
  bool is_gentle(const Segment& segment, uint8_t* joint) const;
  uint8_t check(const Knot& from, const Knot& to, uint8_t* joint) const;

  // What each tick uses comes first, where short addresses reach it.
  uint32_t tick_ = 0;
  uint32_t time_us_ = 0;
  volatile uint8_t tick_low_ = 0;
  uint8_t mode_;
  bool powered_ = false;
  bool has_stop_ = false;
  Motion motion_ = Motion::RAMP;
  uint8_t segment_left_ = 0;                      // ticks of the present segment
  uint8_t inputs_ = 0;                            // debounced: bit j for the home switch of joint j, STOP_OPEN
  uint8_t changing_low_ = 0, changing_high_ = 0;  // for how many ticks each input has differed from that
  uint8_t turn_ = 0, slow_turn_ = 0;              // joints whose checks are due
  uint8_t known_ = 0;
  uint16_t second_ = 0;
  uint16_t silence_ms_ = 100;
  uint16_t silent_ms_ = 0;
  int16_t output_[JOINTS];

  JointLoop loops_[JOINTS];
  SetpointQueue queue_;
  Knot tail_;  // end of the newest segment
  JointSettings settings_[JOINTS];
  uint16_t illegal_[JOINTS];
  uint16_t illegal_before_[JOINTS];  // at the start of this second
  uint16_t overruns_ = 0;
  uint16_t underflows_ = 0;
  uint8_t overruns_this_second_ = 0;
  uint8_t fault_;
  uint8_t fault_joint_;
};
