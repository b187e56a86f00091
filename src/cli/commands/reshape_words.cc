#include "cli/commands/reshape_words.h"

#include <string>
#include <vector>

#include "cli/help_texts.h"
#include "model/keys/key_text.h"
#include "model/keys/reshape.h"

namespace shardmanager::cli {

void AddReshape(CLI::App& cli, ReshapeCommand& words) {
  CLI::App& split =
      *cli.add_subcommand("split", "Replace a shard by several with parts of its keys");
  split.footer(kSplitFooter);
  split.add_option("SHARD", words.shards, "Which one")->required()->expected(1)->type_name("");
  split.add_option("--at", words.cuts, "The first key of each part but the first")
      ->required()
      ->allow_extra_args(false)
      ->type_name("KEY");
  std::vector<std::string> forms(kKeyForms.begin(), kKeyForms.end());
  forms.insert(forms.begin(), "text");
  split
      .add_option("--form", words.form,
                  "How --at has the keys; with a number's bits: as so many bytes")
      ->check(CLI::IsMember(forms))
      ->type_name("FORM");
  CLI::App& merge =
      *cli.add_subcommand("merge", "Replace neighbouring shards by one with all their keys");
  merge.footer(kMergeFooter);
  merge.add_option("SHARD", words.shards, "Which ones")
      ->required()
      ->expected(2, kMostReshaped)
      ->type_name("");
  for (CLI::App* command : {&split, &merge}) {
    CLI::Option* into = command->add_option(
        "--into", words.into,
        command == &split ? "A name for each part; without it, SHARD.0, SHARD.1 and so on"
                          : "The name of the shard that takes their place");
    into->delimiter(',')->allow_extra_args(false)->type_name("NAME");
    if (command == &merge) into->required();
    command->add_flag("--dry-run", words.dry_run,
                      "Check, ask the application, and report; change nothing");
    command->add_flag("-w,--wait", words.wait, "Show the progress, until it is done");
    command->add_option("-a,--app", words.app, "Of this app")->type_name("APP");
  }
}

}  // namespace shardmanager::cli
