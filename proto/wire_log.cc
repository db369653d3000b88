#include "proto/wire_log.h"

#include <google/protobuf/stubs/logging.h>

namespace gpuskew {

void silence_wire_log() {
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace gpuskew
