#pragma once

// The tasks of every study, each in its own file.

#include <vector>

#include "study/study.h"

namespace samplenorm::study {

std::vector<Study::Task> cost_tasks(Study& study);
std::vector<Study::Task> accuracy_tasks(Study& study);
std::vector<Study::Task> curves_tasks(Study& study);
std::vector<Study::Task> error_tasks(Study& study);
std::vector<Study::Task> speed_tasks(Study& study);
std::vector<Study::Task> regularity_tasks(Study& study);
std::vector<Study::Task> decay_tasks(Study& study);
std::vector<Study::Task> micro_tasks(Study& study);

}  // namespace samplenorm::study
