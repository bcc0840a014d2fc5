#include <array>
#include <ostream>

#include "command.h"
#include "completion.h"
#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"

namespace idlesim::app {

namespace {

constexpr std::array<std::string_view, 4> kShells = {"bash", "zsh", "fish", "words"};

// The scripts ask the program itself, so that they know what this version knows.
constexpr const char* kBash =
    R"sh(# Completion of idlesim for bash: eval "$(idlesim completion bash)"
_idlesim() {
  local line=${COMP_LINE:0:COMP_POINT} typed=() candidate current cut files
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  current=${typed[-1]}
  # Bash replaces only what follows the last = or : of the word.
  cut=${current%"${current##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == :file ]]; then
      compopt -o filenames
      while IFS= read -r files; do COMPREPLY+=("$files"); done < <(compgen -f -- "${current##*=}")
    else
      COMPREPLY+=("${candidate#"$cut"}")
    fi
  done < <("${typed[0]/#\~/$HOME}" completion words -- "${typed[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}
complete -F _idlesim idlesim
)sh";

constexpr const char* kZsh = R"sh(#compdef idlesim
# Completion of idlesim for zsh: source <(idlesim completion zsh), after compinit.
_idlesim() {
  local line text
  local -a candidates settings
  for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    text=${line%%$'\t'*}
    if [[ $text == :file ]]; then
      _files
    elif [[ $text == *= ]]; then
      settings+=("$text")
    elif [[ -n $text ]]; then
      candidates+=("${text//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( $#settings )) && compadd -S '' -a settings
  (( $#candidates )) && _describe -V idlesim candidates
  return 0
}
if [[ $funcstack[1] == _idlesim ]]; then
  _idlesim "$@"
else
  compdef _idlesim idlesim
fi
)sh";

constexpr const char* kFish =
    R"sh(# Completion of idlesim for fish: idlesim completion fish | source
function __idlesim_candidates
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -q current[1]; or set current ''
  $typed[1] completion words -- $typed[2..-1] $current 2>/dev/null
end
function __idlesim_wants_file
  __idlesim_candidates | string match -q -- ':file*'
end
complete -c idlesim -f
complete -c idlesim -a '(__idlesim_candidates | string match -v -- ":file*")'
complete -c idlesim -n __idlesim_wants_file -F
)sh";

int run(const Invocation& invocation) {
  const std::string& shell = invocation.operands.front();
  std::ostream& out = invocation.around.out;
  if (shell == "words") {
    const std::vector<std::string> words(invocation.operands.begin() + 1,
                                         invocation.operands.end());
    for (const Candidate& candidate : complete(words))
      out << candidate.text << '\t' << candidate.description << '\n';
    return kSuccess;
  }
  if (std::find(kShells.begin(), kShells.end(), shell) == kShells.end())
    throw UserError("there is no completion for \"" + config::printable(shell) + "\"" +
                    config::did_you_mean(shell, kShells) + " (bash, zsh, fish)");
  if (invocation.operands.size() > 1)
    throw UserError("unexpected argument \"" + config::printable(invocation.operands[1]) + "\"");
  out << (shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return kSuccess;
}

constexpr std::array<std::string_view, 3> kOffered = {"bash", "zsh", "fish"};
constexpr OptionWords kWords[] = {{"", kOffered}};

}  // namespace

const Command kCompletionCommand = {
    "completion",
    "Prints the script that completes idlesim's arguments in a shell",
    "bash|zsh|fish",
    1,
    kAnyNumber,
    "  eval \"$(idlesim completion bash)\"\n"
    "  source <(idlesim completion zsh)\n"
    "  idlesim completion fish | source\n",
    "The scripts ask 'idlesim completion words -- WORD...' for what could stand in place of the "
    "last\n"
    "word: one candidate a line, a tab, and what it means; ':file' stands for the names of "
    "files.\n",
    nullptr,
    run,
    kWords};

}  // namespace idlesim::app
