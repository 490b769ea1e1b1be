/** Shells that there is a script for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** The script of a shell: it asks `drydock __complete` for words, one a line with a tab before what they mean, and at the end `:0` where names of files are meant. */
export function scriptOf(shell: (typeof SHELLS)[number]): string {
  return { bash: BASH, zsh: ZSH, fish: FISH }[shell];
}

// Bash takes = and : for ends of words, and replaces what is behind the last of them.
const BASH = `# bash completion of drydock
__drydock_complete() {
  local line=\${COMP_LINE:0:COMP_POINT} word found cut files=0
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=\${words[\${#words[@]}-1]}
  cut=\${word%"\${word##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r found; do
    case $found in
      :0) files=1 ;;
      :*) ;;
      *)
        found=\${found%%$'\\t'*}
        COMPREPLY+=("\${found#"$cut"}")
        ;;
    esac
  done < <("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null </dev/null)
  [[ \${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
  if ((files)); then compopt -o default 2>/dev/null; fi
}
complete -F __drydock_complete drydock
`;

const ZSH = `#compdef drydock
_drydock() {
  local -a lines candidates open
  local line name files=0
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  for line in "\${lines[@]}"; do
    case $line in
      :0) files=1 ;;
      :*|'') ;;
      *)
        name=\${line%%$'\\t'*}
        name=\${name//:/\\\\:}
        if [[ $line == *$'\\t'* ]]; then
          candidates+=("$name:\${line#*$'\\t'}")
        elif [[ $line == *= ]]; then
          open+=("$name")
        else
          candidates+=("$name")
        fi
        ;;
    esac
  done
  (( \${#candidates} )) && _describe drydock candidates
  # What comes next belongs to the same word.
  (( \${#open} )) && _describe drydock open -S ''
  (( files )) && _files
  return 0
}
if [[ "\${funcstack[1]}" == _drydock ]]; then _drydock "$@"; else compdef _drydock drydock; fi
`;

const FISH = `# fish completion of drydock
function __drydock_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$word" 2>/dev/null </dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$word"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c drydock -f -k -a '(__drydock_complete)'
`;
