#include <ostream>

#include "build_info.h"
#include "command.h"
#include "idlesim/config/json_writer.h"
#include "idlesim/experiment/run.h"

namespace idlesim::app {

namespace {

void add_options(boost::program_options::options_description& options) {
  options.add_options()("json", "as a JSON object");
}

int run(const Invocation& invocation) {
  const BuildInfo& info = build_info();
  if (invocation.has("json")) {
    config::JsonWriter out;
    out.begin_object();
    out.member("version", info.version);
    out.member("git_commit", info.commit);
    out.member("compiler", info.compiler);
    out.member("flags", info.flags);
    out.member("model_version", experiment::kModelVersion);
    out.end_object();
    invocation.around.out << out.take();
    return kSuccess;
  }
  invocation.around.out << "idlesim " << info.version << "\ncommit " << info.commit << "\ncompiler "
                        << info.compiler << " (" << info.flags << ")\nmodel "
                        << experiment::kModelVersion << '\n';
  return kSuccess;
}

}  // namespace

const Command kVersionCommand = {
    "version", "Says which idlesim this is: version, commit, compiler, model version",
    "",        0,
    0,         "  idlesim version\n  idlesim version --json\n",
    "",        add_options,
    run};

}  // namespace idlesim::app
