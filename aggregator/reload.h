#pragma once

#include "aggregator/api_auth.h"
#include "aggregator/command_line.h"
#include "aggregator/config.h"
#include "aggregator/fleet_recorder.h"
#include "aggregator/housekeeping.h"
#include "aggregator/matrix_file.h"
#include "core/time.h"

namespace gpuskew {

class HttpServer;
class Log;
class TlsContext;

/// What SIGHUP changes under the running daemon: matrix, tag, judge, log, retention, certificates and token. A
/// configuration that does not read changes nothing; a file it names that does not read is logged, and the old
/// content stays. What only a restart can change is said to be left as it was.
class Reload {
 public:
  /// References must outlive the object. `started`: what the daemon was started with.
  Reload(const AggregatorCommandLine& line, Config started, Log& log, TlsContext& agents_tls, HttpServer& api,
         ApiAuth& auth, FleetRecorder& recorder, MatrixFile& matrix, Housekeeping& housekeeping);

  void now(Time time);

 private:
  /// `next` with the values that only a restart changes as they are now.
  Config effective(Config next) const;
  void say_what_stays(const Config& next) const;
  void load_certificates(const Config& next);
  void load_api_token(const Config& next);

  const AggregatorCommandLine& line_;
  Config started_;
  Log& log_;
  TlsContext& agents_tls_;
  HttpServer& api_;
  ApiAuth& auth_;
  FleetRecorder& recorder_;
  MatrixFile& matrix_;
  Housekeeping& housekeeping_;
};

}  // namespace gpuskew
