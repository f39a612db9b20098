import type { FlagDefinition, FlagShape, FlagValue } from './flag.ts';
import { flagGroups, flagOf } from './flags.ts';
import { rangeText } from './value.ts';

const indent = 2;
const nameColumn = 32;
const narrowest = 60;

/** The text of `--help`, no line longer than the terminal is wide. */
export function helpText(width: number): string {
  const columns = Math.max(width, narrowest);
  const groups = flagGroups
    .filter(({ title }) => title !== 'Internal')
    .map(({ title, keys }) => [`${title}:`, ...keys.flatMap((key) => flagLines(flagOf(key), columns))].join('\n'));
  return `${[usage, ...groups, wrap(closing, columns).join('\n')].join('\n\n')}\n`;
}

const usage = `Usage: parley [model.gguf] [port] [flags]
       parley --config settings.kcpps [flags]
       parley models             the models on this machine
       parley pull SOURCE        fetch another one
       parley pack add NAME      fetch an engine (pack list)`;
const closing =
  'A value may follow its flag or an equals sign. Old flags of KoboldCpp are understood and reported. ' +
  'docs/configuration.md tells more.';

/** `--contextsize, -c TOKENS` */
function flagSyntax(definition: FlagDefinition): string {
  return [definition.names.join(', '), valueSyntax(definition)].filter(Boolean).join(' ');
}

/** What follows the name: `[LAYERS]` may be left out, `FILE …` may be repeated. */
export function valueSyntax(definition: FlagDefinition): string {
  const noun = definition.metavar ?? 'VALUE';
  switch (definition.type) {
    case 'switch':
      return '';
    case 'choice':
      return definition.choices.join('|');
    case 'list': {
      const repeated = definition.most === undefined ? `${noun} …` : noun;
      return definition.least === 0 ? `[${repeated}]` : repeated;
    }
    default:
      return 'bare' in definition && definition.bare !== undefined ? `[${noun}]` : noun;
  }
}

/** Default, limits and the other facts that the sentence leaves out; empty where there are none. */
export function flagFacts(definition: FlagDefinition): string[] {
  const limits = limitsText(definition);
  const bare = 'bare' in definition && definition.bare !== undefined ? [`alone: ${definition.bare}`] : [];
  const initial = definition.defaultText ?? valueText(definition.default);
  return [
    ...(limits ? [limits] : []),
    ...(definition.type === 'list' && definition.choices ? [`out of ${definition.choices.join(', ')}`] : []),
    ...bare,
    ...(initial ? [`default: ${initial}`] : []),
    ...(definition.environment ? [`or ${definition.environment.join(', ')} in the environment`] : []),
    ...(definition.availability === 'later' ? ['not available yet'] : []),
  ];
}

function limitsText(shape: FlagShape): string {
  if (shape.type !== 'integer' && shape.type !== 'number') return '';
  if (shape.only) return `one of ${shape.only.join(', ')}`;
  const range = rangeText(shape);
  // -1 and 0 as lower ends only say which special values there are, which the sentence says better.
  return shape.max === undefined && (shape.min ?? 0) <= 0 ? '' : range;
}

function valueText(value: FlagValue): string {
  if (value === false || value === null || value === '') return '';
  return Array.isArray(value) ? value.join(' ') : String(value);
}

function flagLines(definition: FlagDefinition, columns: number): string[] {
  const syntax = ' '.repeat(indent) + flagSyntax(definition);
  const facts = flagFacts(definition);
  const text = facts.length > 0 ? `${definition.help} (${facts.join('; ')})` : definition.help;
  const lines = wrap(text, columns - nameColumn).map((line) => ' '.repeat(nameColumn) + line);
  const [first = ''] = lines;
  const fits = syntax.length < nameColumn - 1;
  if (fits) return [syntax.padEnd(nameColumn) + first.trimStart(), ...lines.slice(1)];
  const [head = '', ...rest] = wrap(syntax.trimStart(), columns - 2 * indent);
  return [' '.repeat(indent) + head, ...rest.map((line) => ' '.repeat(2 * indent) + line), ...lines];
}

/** Breaks at spaces; a word longer than the line stands alone. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
