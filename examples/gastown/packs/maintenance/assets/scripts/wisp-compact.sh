#!/bin/sh
# Wisps are beads that were made to be forgotten. One that is closed and older than its time is deleted; one that turned
# out to matter (comments, dependents, the label "keep"), or that is still open long after its time, becomes a bead that
# stays.
set -eu

CITY=${GC_CITY:-.}
CLOSED_AGE_SEC=${GC_WISP_CLOSED_AGE_SEC:-86400}
OPEN_AGE_SEC=${GC_WISP_OPEN_AGE_SEC:-604800}

command -v bd >/dev/null 2>&1 || exit 0
command -v jq >/dev/null 2>&1 || exit 0
cd "$CITY" 2>/dev/null || exit 0
for number in "$CLOSED_AGE_SEC" "$OPEN_AGE_SEC"; do
  case "$number" in '' | *[!0-9]*) exit 0 ;; esac
done

plan=$(bd list --json --all -n 0 2>/dev/null | jq -r --argjson closed "$CLOSED_AGE_SEC" --argjson open "$OPEN_AGE_SEC" '
  def epoch: sub("\\.[0-9]+"; "") | if test("Z$") then fromdateiso8601 else
    capture("^(?<day>.*)(?<sign>[+-])(?<h>[0-9]{2}):(?<m>[0-9]{2})$")
    | (.day + "Z" | fromdateiso8601)
      - ((.h | tonumber) * 3600 + (.m | tonumber) * 60) * (if .sign == "+" then 1 else -1 end) end;
  # What has no readable time is young.
  def age: . as $bead | try (now - ($bead.updated_at // $bead.created_at | epoch)) catch 0;
  def matters: ((.comment_count // ((.comments // []) | length)) > 0)
    or ((.dependent_count // 0) > 0) or (((.labels // []) | index("keep")) != null);
  if type == "array" then .[] else empty end
  | select((.ephemeral // false) == true and (.id | type == "string"))
  | if .status == "closed" and age > $closed then (if matters then "keep" else "delete" end) + "\t" + .id
    elif .status != "closed" and age > $open then "stuck\t" + .id
    else empty end' 2>/dev/null) || exit 0
[ -n "$plan" ] || exit 0

tab=$(printf '\t')
printf '%s\n' "$plan" | while IFS="$tab" read -r what id; do
  case "$what" in
    delete) bd delete "$id" --force >/dev/null 2>&1 </dev/null || true ;;
    keep)
      bd update "$id" --persistent >/dev/null 2>&1 </dev/null || continue
      bd comment "$id" "Kept: others refer to it." >/dev/null 2>&1 </dev/null || true
      ;;
    stuck)
      bd update "$id" --persistent >/dev/null 2>&1 </dev/null || continue
      bd comment "$id" "Kept: still open long after its time. Is anybody on it?" >/dev/null 2>&1 </dev/null || true
      ;;
  esac
done
