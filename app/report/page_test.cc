#include "report/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "samplenorm/error.h"

namespace samplenorm::report {
namespace {

TEST(PageTest, NoTextOfTheDataCanLeaveItsScript) {
  const nlohmann::json value{{"norm", "</script><script>alert(1)</script>"},
                             {"id", "<!-- <img src=x> & \xe2\x80\xa8\xe2\x80\xa9 \xc3\xa9"}};
  const std::string text = json_for_html(value);
  EXPECT_EQ(text.find_first_of("<>&"), text.npos) << text;
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c < 127; })) << text;
  EXPECT_EQ(nlohmann::json::parse(text), value);
}

TEST(PageTest, TextThatIsNotUtf8IsReplacedNotRefused) {
  EXPECT_EQ(nlohmann::json::parse(json_for_html("a\xff")), "a\xef\xbf\xbd");
}

TEST(PageTest, PartsAreTakenAsTheyAre) {
  EXPECT_EQ(fill("a {{one}} b {{two}}{{one}} c", {{"one", "{{two}}"}, {"two", "2"}}), "a {{two}} b 2{{two}} c");
  EXPECT_EQ(fill("", {}), "");
  EXPECT_EQ(fill("a {{ b", {}), "a {{ b");
}

TEST(PageTest, APartThatIsMissingIsNamed) {
  try {
    fill("a {{one}} b", {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'one'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace samplenorm::report
