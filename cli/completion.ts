import { UsageError } from '../formats/usage-error.ts';
import { remedyFor, suggest } from '../primitives/checks/suggest.ts';
import { HELP_SPEC } from './arguments.ts';
import { describe, type OptionSpec, readCommand } from './command-line.ts';

/** A command with its options, or a family of commands. `path` is as in `index build`. */
export interface CommandOptions {
  readonly path: string;
  /** Undefined for a family. */
  readonly specs: readonly OptionSpec[] | undefined;
}

type Shell = (commands: readonly CommandOptions[]) => string;

/** The script of each shell that completes command lines. */
const SHELLS: Readonly<Record<string, Shell>> = { bash, zsh, fish };

export const COMPLETION_SPECS: readonly OptionSpec[] = [HELP_SPEC];

/** The help text of `quadrille completion --help`. */
export const COMPLETION_HELP: string = `quadrille completion bash|zsh|fish

Prints a script that completes commands, options, their values and files when the tab key is pressed.

For bash, in ~/.bashrc:
  source <(quadrille completion bash)

For zsh, into a folder of its path of functions, before it starts the next time:
  quadrille completion zsh > "\${fpath[1]}/_quadrille"

For fish:
  quadrille completion fish > ~/.config/fish/completions/quadrille.fish

${describe(COMPLETION_SPECS)}
`;

/**
 * Parses the arguments after `quadrille completion`.
 *
 * @throws UsageError if they do not name a shell.
 */
export function parseCompletionArguments(args: readonly string[]): Shell {
  const [name] = readCommand(args, COMPLETION_SPECS, ['SHELL']).words;
  if (Object.hasOwn(SHELLS, name!)) return SHELLS[name!]!;
  const names = Object.keys(SHELLS);
  throw new UsageError('usage/not-a-choice', `There is no completion for ${name}.`, {
    remedy: remedyFor(suggest(name!, names), `Choose from ${names.join(', ')}.`),
  });
}

/** What may follow an option: one of some words, a file, another text, or nothing. */
function valuesOf({ value, choices }: OptionSpec): readonly string[] | 'files' | 'text' | 'none' {
  if (choices !== undefined) return choices;
  if (value === undefined) return 'none';
  return /FILE|FOLDER|DIR/.test(value) ? 'files' : 'text';
}

/** The words that may follow: the commands of a family (of all: `''`), and the shells. Other commands take files. */
function followers(commands: readonly CommandOptions[]): (readonly [path: string, words: string])[] {
  const after = (family: string): string => {
    const start = family === '' ? '' : `${family} `;
    const rest = commands.filter(({ path }) => path.startsWith(start)).map(({ path }) => path.slice(start.length));
    return rest.filter((path) => !path.includes(' ')).join(' ');
  };
  const families = ['', ...commands.filter(({ specs }) => specs === undefined).map(({ path }) => path)];
  return [...families.map((family) => [family, after(family)] as const), ['completion', Object.keys(SHELLS).join(' ')]];
}

const dashed = ({ name, short }: OptionSpec): string[] => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];

function bash(commands: readonly CommandOptions[]): string {
  const cases = commands.flatMap(({ path, specs = [] }) =>
    specs.flatMap((spec) => {
      const values = valuesOf(spec);
      const keys = dashed(spec)
        .map((option) => `'${path} ${option}'`)
        .join(' | ');
      if (values === 'none') return [];
      if (values === 'files') return [`    ${keys}) return ;;`];
      if (values === 'text') return [`    ${keys}) compopt +o default +o bashdefault; return ;;`];
      return [`    ${keys}) COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$current")); return ;;`];
    }),
  );
  const options = commands.flatMap(({ path, specs }) =>
    specs === undefined ? [] : [`      '${path}') words='${specs.flatMap(dashed).join(' ')}' ;;`],
  );
  const names = followers(commands).map(([path, words]) => `    '${path}') words='${words}' ;;`);
  return `# Completion of quadrille for bash.
_quadrille() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command='' words='' at
  # Bash takes the = of --option=value for a word.
  if [ "$current" = '=' ]; then
    current=''
  elif [ "$before" = '=' ]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "$command \${COMP_WORDS[at]}" in
      ${commands.map(({ path }) => `'${path.includes(' ') ? path : ` ${path}`}'`).join(' | ')})
        command=\${command:+$command }\${COMP_WORDS[at]} ;;
      *) break ;;
    esac
  done
  case "$command $before" in
${cases.join('\n')}
  esac
  if [ "\${current:0:1}" = '-' ]; then
    case "$command" in
${options.join('\n')}
      *) words='--help --version' ;;
    esac
  else
    case "$command" in
${names.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _quadrille quadrille
`;
}

/** A text in single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function zsh(commands: readonly CommandOptions[]): string {
  const escaped = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');
  const argument = (spec: OptionSpec): string => {
    const values = valuesOf(spec);
    const action =
      values === 'files' ? '_files' : values === 'text' ? ' ' : values === 'none' ? '' : `(${values.join(' ')})`;
    const value = values === 'none' ? '' : `:${escaped(spec.value!)}:${action}`;
    const [long, short] = dashed(spec);
    const isLong = values === 'none' ? '' : '=';
    const both = short === undefined ? [long] : [long, short];
    const alone = spec.repeats === true ? '*' : `(${both.join(' ')})`;
    return both
      .map((option) =>
        quoted(`${alone}${option}${option === long ? isLong : isLong && '+'}[${escaped(spec.help)}]${value}`),
      )
      .join(' ');
  };
  const cases = commands.flatMap(({ path, specs }) =>
    specs === undefined
      ? []
      : [`    ${quoted(path)}) _arguments -s ${specs.map(argument).join(' ')} '*:file:_files' ;;`],
  );
  const names = followers(commands).map(([path, words]) =>
    path === 'completion'
      ? `    completion) _arguments '(-h --help)'{-h,--help}'[this page]' '1:shell:(${words})' ;;`
      : `    ${quoted(path)}) compadd ${words} ;;`,
  );
  return `#compdef quadrille
# Completion of quadrille for zsh.
_quadrille() {
  local command=''
  while ((CURRENT > 2)); do
    case "$command $words[2]" in
      ${commands.map(({ path }) => quoted(path.includes(' ') ? path : ` ${path}`)).join(' | ')})
        command=\${command:+$command }$words[2]; shift words; ((CURRENT--)) ;;
      *) break ;;
    esac
  done
  case "$command" in
${names.join('\n')}
${cases.join('\n')}
  esac
}
_quadrille "$@"
`;
}

function fish(commands: readonly CommandOptions[]): string {
  const lines = commands.flatMap(({ path, specs = [] }) =>
    specs.map((spec) => {
      const values = valuesOf(spec);
      const takes =
        values === 'none'
          ? ''
          : values === 'files'
            ? ' -r -F'
            : values === 'text'
              ? ' -x'
              : ` -x -a ${quoted(values.join(' '))}`;
      const short = spec.short === undefined ? '' : ` -s ${spec.short}`;
      return `complete -c quadrille -n '__quadrille_at "${path}"' -l ${spec.name}${short}${takes} -d ${quoted(spec.help)}`;
    }),
  );
  const names = followers(commands).map(
    ([path, words]) => `complete -c quadrille -n '__quadrille_at "${path}"' -f -a ${quoted(words)}`,
  );
  return `# Completion of quadrille for fish.
function __quadrille_at
  set -l command ''
  for word in (commandline -opc)[2..]
    switch "$command $word"
      case ${commands.map(({ path }) => quoted(path.includes(' ') ? path : ` ${path}`)).join(' ')}
        set command (string trim -- "$command $word")
      case '*'
        break
    end
  end
  test "$command" = "$argv[1]"
end
${names.join('\n')}
${lines.join('\n')}
`;
}
