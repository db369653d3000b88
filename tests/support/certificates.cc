#include "tests/support/certificates.h"

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "runtime/file.h"

namespace gpuskew {
namespace {

template <auto Function>
struct FreeWith {
  template <class T>
  void operator()(T* object) const noexcept {
    Function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using Bio = std::unique_ptr<BIO, FreeWith<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;

constexpr long kX509Version3 = 2;  // versions count from 0

/// A test can not go on without its certificates.
template <class T>
T require(T value, const char* what) {
  if (!value) {
    std::fprintf(stderr, "making a test certificate: %s failed\n", what);
    std::abort();
  }
  return value;
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(require(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), "an extension"));
  require(X509_add_ext(certificate, extension.get(), -1), "adding an extension");
}

Certificate make_certificate(EVP_PKEY* key, const CertificateSpec& spec) {
  Certificate certificate(require(X509_new(), "X509_new"));
  X509* const made = certificate.get();
  X509_set_version(made, kX509Version3);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made), static_cast<long>(spec.valid_from.count()));
  X509_gmtime_adj(X509_getm_notAfter(made), static_cast<long>(spec.valid_until.count()));
  X509_set_pubkey(made, key);
  if (!spec.common_name.empty()) {
    const auto* const name = reinterpret_cast<const unsigned char*>(spec.common_name.data());
    require(X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8, name,
                                       static_cast<int>(spec.common_name.size()), -1, 0),
            "the CN");
  }
  return certificate;
}

/// By the API, not by OpenSSL's text form, which would take a comma or a NUL in a name for its own.
void add_alternative_names(X509* certificate, const CertificateSpec& spec) {
  if (spec.dns_names.empty() && spec.ip_addresses.empty()) {
    return;
  }
  const std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>> names(
      require(sk_GENERAL_NAME_new_null(), "a list of names"));
  for (const std::string& name : spec.dns_names) {
    GENERAL_NAME* const entry = require(GENERAL_NAME_new(), "a name");
    ASN1_IA5STRING* const text = require(ASN1_IA5STRING_new(), "a name's text");
    ASN1_STRING_set(text, name.data(), static_cast<int>(name.size()));
    GENERAL_NAME_set0_value(entry, GEN_DNS, text);
    sk_GENERAL_NAME_push(names.get(), entry);
  }
  for (const std::string& address : spec.ip_addresses) {
    GENERAL_NAME* const entry = require(GENERAL_NAME_new(), "an address");
    ASN1_OCTET_STRING* const bytes = require(a2i_IPADDRESS(address.c_str()), "an address's bytes");
    GENERAL_NAME_set0_value(entry, GEN_IPADD, bytes);
    sk_GENERAL_NAME_push(names.get(), entry);
  }
  require(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1, "the alternative names");
}

void write_pem(const std::filesystem::path& path, const Bio& bio) {
  char* data = nullptr;
  const long length = BIO_ctrl(bio.get(), BIO_CTRL_INFO, 0, &data);
  constexpr mode_t kOwnerOnly = 0600;
  require(write_file_atomically(path, std::string_view(data, static_cast<std::size_t>(length)), kOwnerOnly).has_value(),
          "writing a file");
}

void write_certificate(const std::filesystem::path& path, X509* certificate) {
  const Bio bio(require(BIO_new(BIO_s_mem()), "BIO_new"));
  PEM_write_bio_X509(bio.get(), certificate);
  write_pem(path, bio);
}

/// EVP_EC_gen is a macro with a C cast.
Key make_key() {
  return Key(require(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), "making a key"));
}

}  // namespace

struct CertificateAuthority::Keys {
  Key key;
  Certificate certificate;
};

CertificateAuthority::CertificateAuthority(std::filesystem::path directory, const std::string& name)
    : directory_(std::move(directory)), ca_file_(directory_ / (name + ".ca.pem")), keys_(std::make_unique<Keys>()) {
  keys_->key = make_key();
  CertificateSpec spec;
  spec.common_name = name;
  keys_->certificate = make_certificate(keys_->key.get(), spec);
  X509* const made = keys_->certificate.get();
  X509_set_issuer_name(made, X509_get_subject_name(made));
  add_extension(made, made, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(made, made, NID_subject_key_identifier, "hash");
  require(X509_sign(made, keys_->key.get(), EVP_sha256()), "signing");
  write_certificate(ca_file_, made);
}

CertificateAuthority::~CertificateAuthority() = default;

TlsFiles CertificateAuthority::issue(const std::string& file, const CertificateSpec& spec) const {
  const Key key = make_key();
  const Certificate certificate = make_certificate(key.get(), spec);
  X509* const authority = keys_->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(authority));
  add_extension(certificate.get(), authority, NID_authority_key_identifier, "keyid");
  if (spec.is_ca) {
    add_extension(certificate.get(), authority, NID_basic_constraints, "critical,CA:TRUE");
  }
  add_alternative_names(certificate.get(), spec);
  require(X509_sign(certificate.get(), keys_->key.get(), EVP_sha256()), "signing");

  TlsFiles files{ca_file_, directory_ / (file + ".pem"), directory_ / (file + ".key")};
  write_certificate(files.certificate, certificate.get());
  const Bio bio(require(BIO_new(BIO_s_mem()), "BIO_new"));
  PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  write_pem(files.key, bio);
  return files;
}

}  // namespace gpuskew
