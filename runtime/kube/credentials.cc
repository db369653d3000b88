#include "runtime/kube/credentials.h"

#include <algorithm>
#include <utility>

#include "runtime/clock.h"
#include "runtime/file.h"
#include "runtime/kube/base64.h"

namespace gpuskew {
namespace {

/// What may stand in a header without ending it.
bool is_header_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

Result<std::string> checked_token(std::string text, const std::string& place) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    return fail(ErrorCode::Malformed, place + ": the token is empty");
  }
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  text.erase(0, first);
  if (text.size() > kMaxTokenBytes) {
    return fail(ErrorCode::TooLarge, place + ": longer than a token of " + std::to_string(kMaxTokenBytes) + " bytes");
  }
  if (!is_header_text(text) || text.find(' ') != std::string::npos) {
    return fail(ErrorCode::Malformed, place + ": a token has no blanks or control characters in it");
  }
  return text;
}

Result<void> check_texts(const KubeAccess& access) {
  bool good = is_header_text(access.impersonate_user) && is_header_text(access.impersonate_uid);
  for (const std::string& group : access.impersonate_groups) {
    good = good && is_header_text(group);
  }
  if (!good) {
    return fail(ErrorCode::Malformed, "the user or group to impersonate has a control character");
  }
  if (access.username.find(':') != std::string::npos || access.username.size() > kMaxTokenBytes ||
      access.password.size() > kMaxTokenBytes) {
    return fail(ErrorCode::Malformed, "the user name has a ':', or it or the password is too long");
  }
  return {};
}

}  // namespace

bool KubeCredentials::FileStamp::operator==(const FileStamp& other) const {
  return modified.tv_sec == other.modified.tv_sec && modified.tv_nsec == other.modified.tv_nsec && size == other.size &&
         inode == other.inode;
}

KubeCredentials::FileStamp KubeCredentials::stamp_of(const std::filesystem::path& path) {
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) {
    return FileStamp();
  }
  return FileStamp{status.st_mtim, status.st_size, status.st_ino};
}

KubeCredentials::KubeCredentials(KubeAccess access, bool is_tls, ExecRunner exec)
    : access_(std::move(access)), is_tls_(is_tls), exec_(std::move(exec)) {}

Result<std::unique_ptr<KubeCredentials>> KubeCredentials::open(KubeAccess access, bool is_tls, ExecRunner exec) {
  if (auto good = check_texts(access); !good) {
    return tl::unexpected(good.error());
  }
  const bool needs_exec = access.exec.has_value() && access.token.empty() && access.token_file.empty();
  if (!needs_exec) {
    access.exec.reset();  // as for kubectl, a token of the file is not overridden
  } else if (!exec) {
    return fail(ErrorCode::Unsupported, "exec plugin " + in_quotes(access.exec->command) +
                                            ": a service runs no programs; give it a token or a certificate");
  }
  std::unique_ptr<KubeCredentials> credentials(new KubeCredentials(std::move(access), is_tls, std::move(exec)));
  if (auto run = credentials->run_exec(); !run) {
    return tl::unexpected(run.error());
  }
  if (auto read = credentials->read_all(); !read) {
    return tl::unexpected(read.error());
  }
  return credentials;
}

KubeCredentials::FileStamps KubeCredentials::stamps() const {
  return FileStamps{stamp_of(access_.ca.file), stamp_of(access_.certificate.file), stamp_of(access_.key.file),
                    stamp_of(access_.token_file)};
}

Result<std::string> KubeCredentials::read_token() const {
  if (!access_.token_file.empty()) {
    auto text = read_file(access_.token_file, kMaxTokenBytes);
    if (!text) {
      return fail("token", text.error());
    }
    return checked_token(std::move(*text), "token " + access_.token_file.string());
  }
  if (!access_.token.empty()) {
    return checked_token(access_.token, "token");
  }
  if (from_exec_ && !from_exec_->token.empty()) {
    return checked_token(from_exec_->token, "token of " + access_.exec->command);
  }
  return std::string();
}

Result<std::shared_ptr<const TlsContext>> KubeCredentials::make_tls() const {
  if (!is_tls_) {
    return std::shared_ptr<const TlsContext>();
  }
  TlsClientOptions options;
  options.ca = access_.ca;
  options.certificate = access_.certificate;
  options.key = access_.key;
  if (from_exec_ && !from_exec_->certificate.is_empty()) {
    options.certificate = from_exec_->certificate;
    options.key = from_exec_->key;
  }
  options.system_ca = true;
  options.verify = !access_.skip_verify;
  options.allow_tls12 = true;
  auto context = TlsContext::client(std::move(options));
  if (!context) {
    return fail("client", context.error());
  }
  return std::make_shared<const TlsContext>(std::move(*context));
}

Result<void> KubeCredentials::run_exec() {
  if (!access_.exec) {
    return {};
  }
  auto credential = exec_(access_);
  if (!credential) {
    return fail("exec plugin " + in_quotes(access_.exec->command), credential.error());
  }
  from_exec_ = std::move(*credential);
  return {};
}

Result<bool> KubeCredentials::read_all() {
  // Taken before the files are read: one that is replaced meanwhile is then read again.
  const FileStamps now = stamps();
  auto token = read_token();
  if (!token) {
    return tl::unexpected(token.error());
  }
  const bool is_new_token = *token != token_;
  const PemSource from_exec = from_exec_ ? from_exec_->certificate : PemSource();
  const bool is_new_tls = !(now == read_stamps_) || generation_ == 0 || from_exec != used_from_exec_;
  if (is_new_tls) {
    auto tls = make_tls();
    if (!tls) {
      return tl::unexpected(tls.error());
    }
    tls_ = std::move(*tls);
    ++generation_;
  }
  token_ = std::move(*token);
  read_stamps_ = now;
  used_from_exec_ = from_exec;
  problem_.clear();
  return is_new_token || is_new_tls;
}

Result<void> KubeCredentials::refresh() {
  const bool expires = from_exec_ && from_exec_->expires && *from_exec_->expires < wall_clock_now() + kExecExpiryMargin;
  if (expires) {
    if (auto run = run_exec(); !run) {
      return run;
    }
  }
  if (expires || !(stamps() == read_stamps_)) {
    if (auto read = read_all(); !read) {
      problem_ = read.error().what;
    }
  }
  return {};
}

bool KubeCredentials::renew() {
  auto changed = run_exec();
  if (!changed) {
    problem_ = changed.error().what;
    return false;
  }
  auto read = read_all();
  if (!read) {
    problem_ = read.error().what;
    return false;
  }
  return *read;
}

std::string KubeCredentials::headers() const {
  std::string text;
  if (!token_.empty()) {
    text += "Authorization: Bearer " + token_ + "\r\n";
  } else if (!access_.username.empty()) {
    text += "Authorization: Basic " + base64_encode(access_.username + ":" + access_.password) + "\r\n";
  }
  if (!access_.impersonate_user.empty()) {
    text += "Impersonate-User: " + access_.impersonate_user + "\r\n";
  }
  if (!access_.impersonate_uid.empty()) {
    text += "Impersonate-Uid: " + access_.impersonate_uid + "\r\n";
  }
  for (const std::string& group : access_.impersonate_groups) {
    text += "Impersonate-Group: " + group + "\r\n";
  }
  return text;
}

}  // namespace gpuskew
