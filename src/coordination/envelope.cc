#include "coordination/envelope.h"

#include <xxhash.h>
#include <zstd.h>

#include "absl/strings/str_format.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {
namespace {

// Below this size compression saves nothing worth its time.
constexpr size_t kCompressFrom = 512;
constexpr int kZstdLevel = 1;

uint64_t Checksum(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

absl::Status Decompress(const v1::Envelope& envelope, std::string* out) {
  if (envelope.record_bytes() > kMaxRecordBytes) {
    return absl::DataLossError(absl::StrFormat("record claims %d bytes; at most %d are allowed",
                                               envelope.record_bytes(), kMaxRecordBytes));
  }
  out->resize(envelope.record_bytes());
  const size_t n =
      ZSTD_decompress(out->data(), out->size(), envelope.record().data(), envelope.record().size());
  if (ZSTD_isError(n) || n != out->size()) return absl::DataLossError("record does not decompress");
  return absl::OkStatus();
}

}  // namespace

std::string Seal(const google::protobuf::MessageLite& record) {
  std::string plain = record.SerializeAsString();
  v1::Envelope envelope;
  envelope.set_format_version(kFormatVersion);
  envelope.set_checksum(Checksum(plain));
  envelope.set_record_bytes(static_cast<uint32_t>(plain.size()));
  if (plain.size() >= kCompressFrom) {
    std::string packed(ZSTD_compressBound(plain.size()), '\0');
    const size_t n =
        ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), kZstdLevel);
    if (!ZSTD_isError(n) && n < plain.size()) {
      packed.resize(n);
      envelope.set_compression(v1::COMPRESSION_ZSTD);
      plain = std::move(packed);
    }
  }
  envelope.set_record(std::move(plain));
  return envelope.SerializeAsString();
}

absl::Status Open(std::string_view bytes, google::protobuf::MessageLite* record) {
  v1::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("not a record: the envelope does not parse");
  }
  if (envelope.format_version() > kFormatVersion) {
    return absl::UnimplementedError(
        absl::StrFormat("record has format version %d; this build understands up to %d",
                        envelope.format_version(), kFormatVersion));
  }
  if (envelope.format_version() == 0) return absl::DataLossError("not a record: no format version");

  std::string plain;
  if (envelope.compression() == v1::COMPRESSION_ZSTD) {
    if (absl::Status status = Decompress(envelope, &plain); !status.ok()) return status;
  } else if (envelope.compression() == v1::COMPRESSION_NONE) {
    plain = std::move(*envelope.mutable_record());
  } else {
    return absl::UnimplementedError(
        absl::StrFormat("record has compression %d, which this build does not know",
                        static_cast<int>(envelope.compression())));
  }
  if (plain.size() != envelope.record_bytes()) return absl::DataLossError("record size differs");
  if (Checksum(plain) != envelope.checksum()) return absl::DataLossError("record checksum differs");
  if (!record->ParseFromString(plain)) return absl::DataLossError("record does not parse");
  return absl::OkStatus();
}

}  // namespace shardmanager
