// Value and gradient of both ADBench models against ADBench's own hand-written derivatives.

#include "../../bench/models/gmm.hpp"
#include "../../bench/models/lstm.hpp"
#include "catch.hpp"

using namespace bench;

namespace {

/// Every number within 1e-10 of the expected one, relative to itself.
void check_close(const Derivative& got, const Derivative& expected)
{
    REQUIRE(got.size() == expected.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const bool close = std::abs(got[i] - expected[i]) <= 1e-10 * std::abs(expected[i]);
        if (!close && wrong++ == 0) UNSCOPED_INFO("number " << i << ": " << got[i] << " for " << expected[i]);
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("GMM: value and gradient are ADBench's", "[adbench]")
{
    const Gmm model(read_gmm(instance("gmm_d10_K25.txt")));
    const Derivative expected = read_expected(instance("gmm_d10_K25.expected.txt"));
    check_close(model.derivative(), expected);
    CHECK(std::abs(model.objective().item() - expected[0]) <= 1e-10 * std::abs(expected[0]));
}

TEST_CASE("LSTM: value and gradient are ADBench's", "[adbench]")
{
    const Lstm model(read_lstm(instance("lstm_l2_c1024.txt")));
    const Derivative expected = read_expected(instance("lstm_l2_c1024.expected.txt"));
    check_close(model.derivative(), expected);
    CHECK(std::abs(model.objective().item() - expected[0]) <= 1e-10 * std::abs(expected[0]));
}

TEST_CASE("ADBench: the plain objectives agree with the expected files", "[adbench]")
{
    const double gmm = read_expected(instance("gmm_d10_K25.expected.txt"))[0];
    const double lstm = read_expected(instance("lstm_l2_c1024.expected.txt"))[0];
    CHECK(std::abs(plain_gmm(read_gmm(instance("gmm_d10_K25.txt"))) - gmm) <= 1e-10 * std::abs(gmm));
    CHECK(std::abs(plain_lstm(read_lstm(instance("lstm_l2_c1024.txt"))) - lstm) <= 1e-10 * std::abs(lstm));
}

TEST_CASE("ADBench: a truncated or missing instance is refused by name", "[adbench]")
{
    CHECK_THROWS_WITH(read_gmm("no/such/file"), contains("no/such/file"));
    CHECK_THROWS_WITH(read_lstm(instance("gmm_d10_K25.expected.txt")), contains("expected"));
}
