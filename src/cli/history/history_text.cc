#include "cli/history/history_text.h"

#include "absl/strings/str_cat.h"
#include "cli/render.h"
#include "model/text.h"

namespace shardmanager::cli {

std::string HistoryLines(const v1::ControlEvent& event, bool colour) {
  std::string lines = absl::StrCat(EventLine(event, colour), "\n");
  for (const std::string& change : event.changes()) {
    absl::StrAppend(&lines, "    ", Shown(change), "\n");
  }
  return lines;
}

std::string HistoryNotes(const v1::GetHistoryResponse& history) {
  std::string notes;
  if (history.events().empty()) notes = "nothing of this is kept\n";
  absl::StrAppend(&notes, "kept by ", Shown(history.process()), ", which ",
                  history.leading() ? "leads" : "stands by");
  if (history.reaches_back_ms() != 0) {
    absl::StrAppend(&notes, "; reaches back to ", TimeText(history.reaches_back_ms()),
                    " (changes that people asked for: perhaps further)");
  }
  absl::StrAppend(&notes, "\n");
  if (!history.older_page_token().empty()) {
    absl::StrAppend(&notes, "there are older ones: a higher --limit shows them\n");
  }
  if (!history.problem().empty()) {
    absl::StrAppend(&notes, "events may be missing: ", Shown(history.problem()), "\n");
  }
  return notes;
}

}  // namespace shardmanager::cli
