#include <ostream>

#include "command.h"
#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"
#include "idlesim/report/schemas.h"

namespace idlesim::app {

namespace {

int run(const Invocation& invocation) {
  std::ostream& out = invocation.around.out;
  if (invocation.operands.empty()) {
    for (const report::EmbeddedSchema& schema : report::embedded_schemas())
      out << schema.name << '\n';
    return kSuccess;
  }
  const std::string& name = invocation.operands.front();
  const report::EmbeddedSchema* schema = report::find_schema(name);
  if (schema == nullptr) {
    std::vector<std::string_view> names;
    for (const report::EmbeddedSchema& one : report::embedded_schemas()) {
      names.push_back(one.name);
      names.push_back(one.name.substr(0, one.name.rfind('-')));
    }
    throw UserError("there is no schema \"" + config::printable(name) + "\"" +
                    config::did_you_mean(name, names) + " ('idlesim schema' lists them)");
  }
  out << schema->text;
  return kSuccess;
}

}  // namespace

const Command kSchemaCommand = {"schema",
                                "Prints the JSON Schema of a format, or lists the schemas",
                                "[NAME]",
                                0,
                                1,
                                "  idlesim schema\n  idlesim schema scenario\n  idlesim schema "
                                "report-v1 > report.schema.json\n",
                                "Without a version, NAME means the newest one.\n",
                                nullptr,
                                run};

}  // namespace idlesim::app
