// man_pages DIRECTORY: writes the sources of the manual pages, NAME.SECTION.scd each.
#include <fstream>
#include <iostream>

#include "idlesim/app/man.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: man_pages DIRECTORY\n";
    return 2;
  }
  for (const idlesim::app::ManPage& page : idlesim::app::man_pages()) {
    std::ofstream file(std::string(argv[1]) + "/" + page.file + ".scd");
    file << page.text;
    if (!file.flush()) {
      std::cerr << "man_pages: cannot write " << page.file << ".scd\n";
      return 2;
    }
  }
  return 0;
}
