// What `idlesim help TOPIC` explains beside the commands.
#ifndef IDLESIM_SRC_APP_TOPICS_H_
#define IDLESIM_SRC_APP_TOPICS_H_

#include <span>

namespace idlesim::app {

// `text`: paragraphs separated by empty lines; a line that is indented is shown as it is.
struct Topic {
  const char* name;
  const char* summary;  // one line
  const char* text;
};

std::span<const Topic> topics();

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_TOPICS_H_
