// A folder with an authority of one's own and the certificates that it signed:
//   FOLDER/ca.pem, FOLDER/ca-key.pem           the authority; its key belongs on no server. Others
//                                              that are believed follow in ca.pem
//   FOLDER/next-ca.pem, FOLDER/next-ca-key.pem one that is to take its place
//   FOLDER/server/kv/kv-3/{ca,cert,key}.pem    for one process: to be copied to its machine
// and so on, each below the path of its identity.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/authority.h"
#include "security/identity.h"

namespace shardmanager::security {

// One that is there.
struct Kept {
  std::string folder = {};  // with its three files
  Certificate certificate = {};
  std::string identity = {};  // its path, for people
};

class CertFolder {
 public:
  // ALREADY_EXISTS: there is an authority in it.
  static absl::StatusOr<CertFolder> Make(const std::string& folder, const std::string& cell,
                                         UnixSeconds now);
  // NOT_FOUND: there is none.
  static absl::StatusOr<CertFolder> Open(const std::string& folder);

  const std::string& cell() const { return cell_; }
  const Certificate& authority() const { return certificate_; }
  // Where the files of this identity are.
  std::string FolderOf(const std::string& path) const { return folder_ + "/" + path; }

  // ALREADY_EXISTS: it was issued before; Renew() is meant.
  absl::StatusOr<Kept> Issue(const std::string& path, const std::vector<std::string>& hosts,
                             UnixSeconds life, UnixSeconds now) const;
  // All that are there, by path.
  absl::StatusOr<std::vector<Kept>> List() const;
  // A new certificate in its place, for as long as the old one was for, and with its hosts. The key
  // stays, so that there is no moment in which the files do not fit each other; unless `new_key`.
  absl::StatusOr<Kept> Renew(const Kept& kept, bool new_key, UnixSeconds now) const;

  // ---- replacing the authority. Each step goes on where it was broken off, and changes the files
  // of all who are there; all processes have to have them before the next step.
  // A second one is believed, too; it signs nothing yet. FAILED_PRECONDITION: there is one.
  absl::Status AddAuthority(UnixSeconds now);
  // It signs everything anew from here on; the first one is still believed. FAILED_PRECONDITION:
  // none was added.
  absl::Status UseAuthority(UnixSeconds now);
  // Only the one that signs is believed. FAILED_PRECONDITION: the one that was added is not used
  // yet, or there is no other.
  absl::Status DropAuthority();

 private:
  // Gives everybody the authorities that are believed.
  absl::Status PutAuthorities() const;
  CertFolder(std::string folder, Credential authority);
  absl::Status Put(const std::string& folder, const Credential& credential) const;

  std::string folder_;
  Credential authority_;
  Certificate certificate_;
  std::string cell_;
};

// Two thirds of its time are over.
bool IsDue(const Certificate& certificate, UnixSeconds now);

// Certificates with which a cell is tried on this machine: one identity for all of its processes.
// Makes them in `folder`, or anew if they are due; leaves them if not. The key of the authority
// that signs them is not kept. True: they are new.
absl::StatusOr<bool> EnsureTrialFolder(const std::string& folder, UnixSeconds now);

}  // namespace shardmanager::security
