"""All programs, from the tables; run as a program it prints their names, for CMake."""
import cases_archives
import cases_changes
import cases_coreutils
import cases_languages
import cases_science
import cases_text

TABLES = (cases_coreutils, cases_archives, cases_text, cases_languages, cases_science,
          cases_changes)
PROGRAMS = {name: program for table in TABLES for name, program in table.PROGRAMS.items()}

if __name__ == "__main__":
    print(";".join(sorted(PROGRAMS)))
