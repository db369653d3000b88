#include "core/facts/each_fact.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(EachFact, HasANameOfItsOwn) {
  std::set<std::string> names;
  std::size_t facts = 0;
  for_each_fact(Snapshot{}, [&](const char* name, const auto& fact) {
    EXPECT_TRUE(fact.is_unknown()) << name;
    names.insert(name);
    ++facts;
  });
  EXPECT_EQ(names.size(), facts);
  EXPECT_EQ(facts, 32u);
}

TEST(EachFact, TellsAFactNobodySpeaksOfFromOneThatCouldNotBeRead) {
  EXPECT_FALSE(is_reported(Fact<bool>()));
  EXPECT_TRUE(is_reported(Fact<bool>::known(false, "efivars")));
  EXPECT_TRUE(is_reported(Fact<bool>::absent("efivars")));
  EXPECT_TRUE(is_reported(Fact<bool>::unknown(Error{ErrorCode::Unsupported, "no efivars"}, "efivars")));
  EXPECT_TRUE(is_reported(Fact<bool>::unknown(Error{ErrorCode::Denied, "denied"}, "")));
}

}  // namespace
}  // namespace gpuskew
