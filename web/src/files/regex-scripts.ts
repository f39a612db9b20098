import { type Fields, fieldsOf, flagIn, listIn, numberIn, textIn, textsIn } from '../api/loose.ts';
import type { Character } from '../conversations/character.ts';
import { newScript, type RegexScript } from '../conversations/regex-script.ts';

/** Regex scripts in the format of SillyTavern: files of one script or of several, and those in character cards. */

const maxScripts = 500;
/** Where they apply, by the numbers of the format. */
const placements = { user: 1, reply: 2, commands: 3, world: 5, reasoning: 6 } as const;
export function isRegexScript(value: unknown): boolean {
  const [first] = Array.isArray(value) ? value : [value];
  const { findRegex, replaceString } = fieldsOf(first);
  return typeof findRegex === 'string' && (typeof replaceString === 'string' || replaceString === undefined);
}

/** The scripts of a parsed file or of a card; none if it has no known format. */
export function scriptsIn(value: unknown, id: () => string): RegexScript[] {
  const list = Array.isArray(value) ? listIn(value, maxScripts) : [value];
  return list.filter(isRegexScript).map((one) => scriptOf(fieldsOf(one), id));
}

const known = new Set([
  ...['id', 'scriptName', 'findRegex', 'replaceString', 'trimStrings', 'placement', 'disabled', 'markdownOnly'],
  ...['promptOnly', 'runOnEdit', 'substituteRegex', 'minDepth', 'maxDepth'],
]);

function scriptOf(fields: Fields, id: () => string): RegexScript {
  const places = listIn(fields.placement, 20);
  // The first version of the format had a place of its own for what is only shown.
  const isOldDisplay = places.includes(0);
  const [shown, sent] = [flagIn(fields.markdownOnly, false) || isOldDisplay, flagIn(fields.promptOnly, false)];
  const macros = ([undefined, 'raw', 'escaped'] as const)[numberIn(Number(fields.substituteRegex ?? 0), 0)] ?? 'none';
  const minDepth = depthIn(fields.minDepth);
  const maxDepth = depthIn(fields.maxDepth);
  const others = places.filter((place) => place !== placements.user && place !== placements.reply && place !== 0);
  const unknown = Object.entries(fields).filter(([name]) => !known.has(name));
  const foreign = { ...Object.fromEntries(unknown), ...(others.length > 0 ? { placement: others } : {}) };
  return newScript({
    id: id(),
    name: textIn(fields.scriptName).trim(),
    find: textIn(fields.findRegex),
    replace: textIn(fields.replaceString),
    trim: textsIn(fields.trimStrings, 200).filter((text) => text !== ''),
    on: !flagIn(fields.disabled, false),
    user: isOldDisplay || places.includes(placements.user),
    reply: isOldDisplay || places.includes(placements.reply),
    where: shown && sent ? 'shown-and-sent' : shown ? 'shown' : sent ? 'sent' : 'chat',
    onEdit: flagIn(fields.runOnEdit, false),
    macros,
    ...(minDepth === undefined ? {} : { minDepth }),
    ...(maxDepth === undefined ? {} : { maxDepth }),
    ...(Object.keys(foreign).length > 0 ? { foreign } : {}),
  });
}

/** Below 0 there is no limit. */
function depthIn(value: unknown): number | undefined {
  const depth = Math.trunc(numberIn(value, -1));
  return depth >= 0 ? depth : undefined;
}

/** Where else the script applies in SillyTavern. */
export function foreignPlaces({ foreign = {} }: RegexScript): ('commands' | 'world' | 'reasoning')[] {
  const others = listIn(foreign.placement, 20);
  return (['commands', 'world', 'reasoning'] as const).filter((place) => others.includes(placements[place]));
}

/** A script in the format of SillyTavern. */
export function scriptFile(script: RegexScript): Record<string, unknown> {
  const { foreign: { placement, ...foreign } = {}, where, minDepth = null, maxDepth = null } = script;
  return {
    ...foreign,
    id: script.id,
    scriptName: script.name,
    findRegex: script.find,
    replaceString: script.replace,
    trimStrings: script.trim,
    placement: [
      ...(script.user ? [placements.user] : []),
      ...(script.reply ? [placements.reply] : []),
      ...listIn(placement, 20),
    ],
    disabled: !script.on,
    markdownOnly: where === 'shown' || where === 'shown-and-sent',
    promptOnly: where === 'sent' || where === 'shown-and-sent',
    runOnEdit: script.onEdit,
    substituteRegex: ['none', 'raw', 'escaped'].indexOf(script.macros),
    minDepth,
    maxDepth,
  };
}

/** Scripts of an imported card that the person has not allowed. */
export function offeredScripts({ foreign }: Pick<Character, 'foreign'>, id: () => string): RegexScript[] {
  return scriptsIn(fieldsOf(foreign?.extensions).regex_scripts ?? [], id);
}

/** The character with the scripts of its card. */
export function withOfferedScripts(character: Character, id: () => string): Character {
  const { regex_scripts: _, ...extensions } = fieldsOf(character.foreign?.extensions);
  return {
    ...character,
    scripts: [...(character.scripts ?? []), ...offeredScripts(character, id)],
    foreign: { ...character.foreign, extensions },
  };
}
