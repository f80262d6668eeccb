#pragma once

namespace samplenorm::cli {

/// Makes malloc keep freed memory in the process. To be called before anything else allocates much.
void keep_pages();

}  // namespace samplenorm::cli
