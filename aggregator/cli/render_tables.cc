#include <algorithm>

#include "aggregator/cli/render.h"

namespace gpuskew {
namespace {

/// Cells with the columns they stand under, so that a column can not go without its cell.
class Row {
 public:
  void add(std::string header, std::string text, Style style = Style::Plain, bool may_be_cut = false) {
    columns_.push_back(Column{std::move(header), may_be_cut});
    cells_.push_back(Cell{std::move(text), style});
  }
  void add_prose(std::string header, std::string text) { add(std::move(header), std::move(text), Style::Plain, true); }
  const std::vector<Column>& columns() const { return columns_; }
  std::vector<Cell> cells() && { return std::move(cells_); }

 private:
  std::vector<Column> columns_;
  std::vector<Cell> cells_;
};

/// `row_of` must give the same columns for every item; an empty item gives them for an empty list.
template <class Item, class RowOf>
Table table_of(const std::vector<Item>& items, RowOf row_of) {
  Table table(row_of(Item{}).columns());
  for (const Item& item : items) {
    table.add(row_of(item).cells());
  }
  return table;
}

std::string when(Time at, TableForm form, Time now) {
  return form == TableForm::Csv ? to_rfc3339(at) : ago_text(at, now);
}

Cell fact_cell(const Fact<std::string>& fact) {
  return Cell{short_text(fact), fact.is_unknown() ? Style::Unknown : Style::Plain};
}

}  // namespace

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : std::string(between)) + word;
  }
  return text;
}

std::string ago_text(Time then, Time now) {
  return to_short_text(now - then) + " ago";
}

std::string short_text(const Fact<std::string>& fact) {
  if (fact.is_known()) {
    return fact.value();
  }
  return fact.is_absent() ? "none" : "unknown";
}

std::string long_text(const Fact<std::string>& fact, const std::string& none) {
  if (fact.is_known()) {
    return fact.value();
  }
  return fact.is_absent() ? none : "unknown, because " + fact.why().what;
}

Table nodes_table(const std::vector<NodeRow>& nodes, TableForm form, Time now) {
  const bool all = form != TableForm::Narrow;
  const bool of_cluster =
      std::any_of(nodes.begin(), nodes.end(), [](const NodeRow& node) { return node.cluster.has_value(); });
  return table_of(nodes, [&](const NodeRow& node) {
    Row row;
    const auto add_fact = [&row](std::string header, const Fact<std::string>& fact) {
      Cell cell = fact_cell(fact);
      row.add(std::move(header), std::move(cell.text), cell.style);
    };
    row.add("NODE", node.name);
    row.add("STATE", node.state, style_of_state(node.state));
    add_fact("KERNEL", node.kernel);
    add_fact("DRIVER", node.driver);
    add_fact("GPUS", node.gpus);
    if (all) {
      add_fact("OS", node.os);
      add_fact("BOOT ID", node.boot_id);
      row.add("TAG", node.tag.value_or(""));
    }
    if (all) {
      const std::string outcome = node.next_boot ? node.next_boot->outcome : "unknown";
      row.add("NEXT BOOT", outcome, style_of_outcome(outcome));
    }
    row.add("LAST HEARD", node.last_heard ? when(*node.last_heard, form, now) : "never");
    if (all) {
      row.add("FINDINGS", joined(node.findings, form == TableForm::Csv ? " " : ","));
    }
    if (all && of_cluster) {
      row.add("CLUSTER", node.cluster ? cluster_state_text(*node.cluster) : "");
      row.add("UPGRADE", node.cluster ? node.cluster->upgrade_state : "");
      row.add_prose("CONTRADICTIONS", node.cluster ? joined(node.cluster->notes, "; ") : "");
    }
    row.add_prose("WHY", node.why);
    if (all) {
      row.add_prose("TAG ERROR", node.tag_error.value_or(""));
    }
    return row;
  });
}

Table findings_table(const std::vector<FindingReply>& findings, TableForm form, Time now) {
  const bool all = form != TableForm::Narrow;
  return table_of(findings, [&](const FindingReply& finding) {
    Row row;
    row.add("SEVERITY", finding.severity, style_of_severity(finding.severity));
    row.add("NODE", finding.node);
    row.add("CODE", finding.code);
    row.add("SINCE", when(finding.since, form, now));
    row.add("REBOOT HELPS", finding.reboot_helps);
    row.add_prose("CAUSE", finding.cause);
    if (all) {
      row.add("GPUS", joined(finding.affected_gpus, form == TableForm::Csv ? " " : ","));
      row.add("NEXT STEP", finding.next_step);
    }
    return row;
  });
}

Table history_table(const std::vector<TransitionReply>& transitions, TableForm form, Time now) {
  return table_of(transitions, [&](const TransitionReply& transition) {
    Row row;
    row.add("AT", to_rfc3339(transition.at));
    if (form != TableForm::Csv) {
      row.add("AGE", to_short_text(now - transition.at));
    }
    row.add("WHAT", transition.kind);
    row.add("FROM", transition.from);
    row.add("TO", transition.to);
    row.add_prose("DETAIL", transition.detail);
    return row;
  });
}

namespace {

Style style_of_image(const std::string& verdict) {
  return verdict == "ok" ? Style::Good : verdict == "missing" ? Style::Critical : Style::Unknown;
}

}  // namespace

Table audit_table(const AuditReply& audit) {
  return table_of(audit.nodes, [](const AuditRow& node) {
    Row row;
    row.add("NODE", node.node);
    row.add("VERDICT", node.verdict, style_of_image(node.verdict));
    row.add("TAG", node.tag.value_or(""));
    row.add_prose("WHY", node.why);
    row.add_prose("NOTES", joined(node.notes, "; "));
    return row;
  });
}

Table forecast_table(const ForecastReply& forecast) {
  return table_of(forecast.nodes, [](const ForecastRow& node) {
    Row row;
    row.add("NODE", node.node);
    row.add("KERNEL", node.kernel.value_or("unknown"));
    row.add("VERDICT", node.verdict, style_of_image(node.verdict));
    row.add("TAG", node.tag.value_or(""));
    row.add_prose("WHY", node.why);
    row.add_prose("NOTES", joined(node.notes, "; "));
    return row;
  });
}

}  // namespace gpuskew
