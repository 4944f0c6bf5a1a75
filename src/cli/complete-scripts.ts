/** The completion scripts. They know nothing of the commands: they ask `fencepost __complete`. */

const bash = `# bash completion of fencepost
_fencepost() {
  local head=\${COMP_LINE:0:COMP_POINT} line word last before=''
  local -a words
  # Not COMP_WORDS: it takes URLs apart at their colons.
  read -ra words <<< "$head"
  [[ $head == *[[:space:]] ]] && words+=('')
  COMPREPLY=()
  # Readline replaces only what stands behind the last of its word breaks.
  last=\${words[-1]}
  [[ $COMP_WORDBREAKS == *:* && $last == *:* ]] && before=\${last%:*}:
  while IFS= read -r line; do
    if [[ $line == :file ]]; then
      compopt -o default
      return
    fi
    word=\${line%%$'\\t'*}
    printf -v word %q "\${word#"$before"}"
    COMPREPLY+=("$word")
  done < <("$1" __complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _fencepost fencepost
`;

const zsh = `#compdef fencepost
_fencepost() {
  local -a lines candidates
  local line
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${lines[1]} == ':file' ]]; then
    _files
    return
  fi
  for line in "\${lines[@]}"; do
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe fencepost candidates
}
if [[ \${funcstack[1]} == _fencepost ]]; then
  _fencepost "$@"
else
  compdef _fencepost fencepost
fi
`;

const fish = `# fish completion of fencepost
function __fencepost_complete
  set -l words (commandline -opc)
  set -l last (commandline -ct)
  set -l lines ($words[1] __complete -- $words[2..] "$last" 2>/dev/null)
  if test "$lines[1]" = :file
    __fish_complete_path "$last"
    return
  end
  printf '%s\\n' $lines
end
complete -c fencepost -f -a '(__fencepost_complete)'
`;

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };

export const shells: readonly string[] = Object.keys(scripts);

/** The script of one of `shells`. */
export function completionScript(shell: string): string {
  return scripts[shell] ?? '';
}
