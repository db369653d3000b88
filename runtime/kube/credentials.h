#pragma once

// Who we are to an API server, and whom we believe to be it; read again as files and tokens are replaced. A program
// that runs for months sees its certificate, its token and the server's CA change many times.

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "runtime/kube/access.h"
#include "runtime/tls.h"

namespace gpuskew {

/// A credential is replaced this long before it expires.
inline constexpr Duration kExecExpiryMargin = std::chrono::seconds(10);

class KubeCredentials {
 public:
  /// Reads every file, and runs the exec plugin when there is one. `is_tls`: whether the server speaks it.
  static Result<std::unique_ptr<KubeCredentials>> open(KubeAccess access, bool is_tls, ExecRunner exec);

  /// Before a request: what was replaced is read again. A file that is broken, perhaps half written, leaves what was
  /// read last in use and is told by problem(). An error is a plugin's that has no new credential.
  Result<void> refresh();
  /// After the server refused (401, or a failed handshake): everything again. Whether anything is different.
  bool renew();

  /// nullptr for plain HTTP.
  const std::shared_ptr<const TlsContext>& tls() const { return tls_; }
  /// Changes with tls(): a connection made before is another identity's.
  std::uint64_t generation() const { return generation_; }
  /// Authorization and Impersonate headers, each with its end of line. Secret.
  std::string headers() const;
  /// Why what is in use is not what is in the files; "" when it is.
  const std::string& problem() const { return problem_; }

 private:
  struct FileStamp {
    timespec modified{};
    off_t size = -1;
    ino_t inode = 0;
    bool operator==(const FileStamp& other) const;
  };
  static FileStamp stamp_of(const std::filesystem::path& path);

  using FileStamps = std::array<FileStamp, 4>;

  KubeCredentials(KubeAccess access, bool is_tls, ExecRunner exec);
  FileStamps stamps() const;
  Result<std::string> read_token() const;
  Result<std::shared_ptr<const TlsContext>> make_tls() const;
  Result<void> run_exec();
  /// Whether anything is different from before. On an error all is as before.
  Result<bool> read_all();

  KubeAccess access_;
  bool is_tls_;
  ExecRunner exec_;
  std::optional<ExecCredential> from_exec_;
  std::string token_;
  std::shared_ptr<const TlsContext> tls_;
  FileStamps read_stamps_;
  PemSource used_from_exec_;  // the certificate that tls_ has from the plugin
  std::uint64_t generation_ = 0;
  std::string problem_;
};

}  // namespace gpuskew
