// SPDX-License-Identifier: Apache-2.0
// The whole board without its hardware: the control interrupt and the conversation with the host.
#pragma once

#include <stdint.h>

#include "configuration_store.h"
#include "control.h"
#include "frame_codec.h"
#include "gripper.h"
#include "homing.h"

// The serial line to the host.
class Line {
 public:
  // Takes the frame as a whole, or returns false when there is no room for it.
  virtual bool send(const uint8_t* frame, uint8_t bytes) = 0;

 protected:
  ~Line() {}
};

// What the main loop knows of the hardware.
struct Panel {
  uint32_t now_us;         // board clock
  uint16_t loop_worst_us;  // longest control interrupt so far
  uint16_t bytes_lost;     // receive buffer overruns
  bool button_pressed;
  bool object_felt;  // grasp sensor
};

class Board {
 public:
  Board(Line& line, Memory& memory, uint8_t reset_cause);

  // Once, before anything else: reads the stored configuration and says hello.
  void start();
  // From the control interrupt.
  Control& control() { return control_; }
  // A byte has come from the host; from the main loop.
  void receive(uint8_t byte, uint32_t now_us);
  // From the main loop, at least once a millisecond.
  void poll(const Panel& panel);

  uint16_t gripper_pulse_us() const { return gripper_.pulse_us(); }

 private:
  // How a request ended.
  struct Outcome {
    uint8_t reason;  // 0: done
    uint8_t joint;
  };
  // A request that has been answered, in case it is repeated.
  struct Answered {
    uint32_t tick;
    uint16_t crc;
    uint8_t sequence;
    bool pending;  // its acknowledgement comes later
    Outcome outcome;
  };

  void handle(uint32_t now_us);
  bool answer_at_once(uint32_t now_us);
  bool answer_repetition(uint32_t tick);
  Outcome carry_out();
  Outcome configure_joint();
  Outcome configure_board();
  Outcome set_mode();
  Outcome home();
  Outcome set_here();
  Outcome setpoint();
  void remember(Outcome outcome, bool pending, uint32_t tick);
  void answer(uint8_t message, uint8_t sequence, Outcome outcome);
  bool configured() const { return configured_ == (1 << JOINTS) - 1; }
  bool use(const messages::JointConfiguration& configuration);
  void use(const messages::BoardConfiguration& configuration);
  void count_lost(uint8_t sequence);
  void send_identity(uint32_t now_us);
  void send_state(const Snapshot& now, const Panel& panel);
  void send_report(const Snapshot& now);
  void send_health(const Snapshot& now, const Panel& panel);
  void send_home_progress(const Snapshot& now);
  void finish_store();
  template <class M>
  void send(const M& message);

  Line& line_;
  ConfigurationStore store_;
  Control control_;
  Homing homing_;
  Gripper gripper_;
  FrameDecoder decoder_;
  messages::JointConfiguration joint_configurations_[JOINTS];
  messages::BoardConfiguration board_configuration_;
  Answered answered_[4];
  uint8_t next_answer_ = 0;
  uint8_t sequence_ = 0;  // of the next frame sent
  uint8_t expected_ = 0;  // sequence number of the host's next frame
  bool heard_ = false;
  uint8_t configured_ = 0;  // bit j: joint j is configured
  uint8_t reset_cause_;
  bool stored_ = false;
  uint8_t store_sequence_ = 0;
  uint16_t start_count_ = 0;
  uint16_t frames_lost_ = 0;
  uint16_t setpoints_late_ = 0;
  uint16_t setpoints_refused_ = 0;
  uint32_t seen_tick_ = 0;
  uint32_t uptime_ms_ = 0;
  uint16_t state_left_ = 1;  // ticks until the next message of each kind
  uint16_t report_left_ = 0;
  uint16_t health_left_ = 503;
  uint16_t progress_left_ = 0;
};
