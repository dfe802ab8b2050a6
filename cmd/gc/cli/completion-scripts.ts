export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * The script that a shell loads. It asks `gc __complete -- <words>` and gets one `value<TAB>explanation` per line, or
 * the single line `:paths`. Words are passed on as they are: nothing that stands on the command line is evaluated.
 */
export function completionScript(shell: Shell): string {
  switch (shell) {
    case 'bash':
      return BASH;
    case 'zsh':
      return ZSH;
    case 'fish':
      return FISH;
  }
}

const BASH = `# bash completion for gc; load it with: source <(gc completion bash)
_gc_complete() {
  local line word
  local -a words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  local current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  # bash splits words at "=" and ":"; they are put together again here.
  local -a joined=()
  local last=-1
  for word in "\${words[@]}"; do
    if (( last >= 0 )) && [[ "\${joined[last]}" == -* && ( "$word" == [=:]* || "\${joined[last]}" == *[=:] ) ]]; then
      joined[last]="\${joined[last]}$word"
    else
      last=$(( last + 1 ))
      joined[last]="$word"
    fi
  done
  local whole="\${joined[last]}"
  while IFS= read -r line; do
    if [[ "$line" == ":paths" ]]; then
      compopt -o filenames 2>/dev/null
      [[ "$current" == "=" ]] && current=""
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
      return
    fi
    line="\${line%%$'\\t'*}"
    [[ "$whole" != "$current" && "$line" == *=* ]] && line="\${line#*=}"
    COMPREPLY+=("$(printf '%q' "$line")")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${joined[@]}" 2>/dev/null)
}
complete -F _gc_complete gc
`;

const ZSH = `#compdef gc
# zsh completion for gc; load it with: source <(gc completion zsh)
_gc() {
  local line
  local -a answers
  while IFS= read -r line; do
    if [[ "$line" == ":paths" ]]; then
      _files
      return
    fi
    answers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe 'gc' answers
}
if [[ "\${funcstack[1]}" == "_gc" ]]; then _gc "$@"; else compdef _gc gc; fi
`;

const FISH = `# fish completion for gc; save it as ~/.config/fish/completions/gc.fish
function __gc_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answers ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if test "$answers" = ":paths"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $answers
    end
end
complete -c gc -f -a '(__gc_complete)'
`;
