# One JSON object per session. Reads four parts, each but the first behind a line that names it:
#              pid ppid args...                       of every process
#   =screen    what `screen -ls` says
#   =raw       changed size path                      of the logs
#   =sessions  S name state leader server exit keys...  one session, - for what there is none of
function esc(text) {
  gsub(/\\/, "\\\\", text)
  gsub(/"/, "\\\"", text)
  gsub(/\t/, "\\t", text)
  gsub(/\r/, "\\r", text)
  gsub(/\n/, "\\n", text)
  gsub(/[\001-\037]/, "", text)
  return "\"" text "\""
}
function content(file,    all, line, first) {
  all = ""
  first = 1
  while ((getline line < file) > 0) {
    all = all (first ? "" : "\n") line
    first = 0
  }
  close(file)
  return all
}
function base(path) { sub(/.*\//, "", path); return path }
function names(pid,    i, n, kids, out, part) {
  out = own(pid)
  n = split(children[pid], kids, " ")
  for (i = 1; i <= n; i++) {
    part = names(kids[i])
    if (part != "") out = out (out == "" ? "" : ",") part
  }
  return out
}
function own(pid,    words, n, program, i, out) {
  n = split(args[pid], words, " ")
  program = base(words[1])
  sub(/^-/, "", program)
  out = esc(program)
  if (program ~ /^(node|bun|deno|npx|python[0-9.]*)$/)
    for (i = 2; i <= n; i++)
      if (words[i] !~ /^-/ && words[i] !~ /^(run|exec|x)$/) {
        program = base(words[i])
        out = out "," esc(program)
        if (sub(/\.[^.]+$/, "", program)) out = out "," esc(program)
        break
      }
  return out
}
# Days and seconds since the epoch as RFC 3339, by the civil calendar.
function rfc3339(t,    z, era, doe, yoe, doy, mp, d, m, y, s) {
  s = t % 86400
  z = int(t / 86400) + 719468
  era = int(z / 146097)
  doe = z - era * 146097
  yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
  doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100))
  mp = int((5 * doy + 2) / 153)
  d = doy - int((153 * mp + 2) / 5) + 1
  m = mp < 10 ? mp + 3 : mp - 9
  y = yoe + era * 400 + (m <= 2 ? 1 : 0)
  return sprintf("%04d-%02d-%02dT%02d:%02d:%02dZ", y, m, d, int(s / 3600), int(s % 3600 / 60), s % 60)
}
/^=(screen|raw|sessions)$/ { part = substr($0, 2); next }
part == "" {
  children[$2] = children[$2] " " $1
  line = $0
  sub(/^ *[0-9]+ +[0-9]+ +/, "", line)
  args[$1] = line
  next
}
part == "screen" {
  if ($1 ~ /^[0-9]+\.agent$/) attached[$1 + 0] = /Detached/ ? 0 : 1
  next
}
part == "raw" { path = $0; sub(/^[0-9]+ [0-9]+ /, "", path); active[path] = $1; next }
$1 == "S" {
  printf "{\"name\":%s,\"state\":%s", esc($2), esc($3)
  folder = root "/" $2
  if ($3 == "running") {
    printf ",\"pid\":%d,\"attached\":%d", $4, attached[$5] + 0
    printf ",\"process_names\":[%s]", names($4)
  } else {
    if ($6 ~ /^[0-9]+$/ && $6 > 128 && ($6 - 128) in signals) printf ",\"exit_signal\":%s", esc(signals[$6 - 128])
    else if ($6 ~ /^[0-9]+$/) printf ",\"exit_code\":%d", $6
    printf ",\"last_lines\":%s", esc(content(folder "/last"))
  }
  if (active[folder "/raw"] != "") printf ",\"last_activity\":%s", esc(rfc3339(active[folder "/raw"]))
  printf ",\"meta\":{"
  for (i = 7; i <= NF; i++) printf "%s%s:%s", (i > 7 ? "," : ""), esc($i), esc(content(folder "/meta/" $i))
  printf "}}\n"
}
BEGIN {
  n = split("1 HUP 2 INT 3 QUIT 4 ILL 6 ABRT 8 FPE 9 KILL 11 SEGV 13 PIPE 14 ALRM 15 TERM 24 XCPU 25 XFSZ", s, " ")
  for (i = 1; i < n; i += 2) signals[s[i]] = "SIG" s[i + 1]
}
