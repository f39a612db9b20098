import { type Fields, fieldsOf, flagIn, isObject, listIn, numberIn, percentIn, textIn, textsIn } from '../api/loose.ts';
import {
  type Branch,
  defaultNote,
  modes,
  newEntry,
  newStory,
  type Passage,
  type Story,
  type WorldEntry,
} from '../story/story.ts';

/** The Parley format: everything but images, with all branches. */
export function fileOfStory({ pending: _, illustrations: __, ...story }: Story): object {
  return { parley: 'story', version: 1, story };
}

export function isOwn(value: unknown): boolean {
  return fieldsOf(value).parley === 'story';
}

export function storyOfFile(value: unknown, id: () => string, changed: number): Story {
  const story = fieldsOf(fieldsOf(value).story);
  const note = fieldsOf(story.note);
  const defaults = newStory({ id: id(), changed });
  const foreign = fieldsOf(story.foreign);
  return {
    ...defaults,
    title: textIn(story.title),
    mode: modes.find((mode) => mode === story.mode) ?? 'story',
    memory: textIn(story.memory),
    note: {
      text: textIn(note.text),
      template: textIn(note.template, defaultNote.template),
      depth: Math.max(0, numberIn(note.depth, defaultNote.depth)),
    },
    world: listIn(story.world, 20_000).map((entry) => entryOf(fieldsOf(entry), id)),
    worldDepth: Math.max(0, numberIn(story.worldDepth, 0)),
    me: textIn(story.me).trim() || defaults.me,
    them: textIn(story.them).trim() || defaults.them,
    oneLine: flagIn(story.oneLine, true),
    stops: textsIn(story.stops, 256),
    prefill: textIn(story.prefill),
    passages: passagesIn(story.passages, id, 0),
    ...(Object.keys(foreign).length > 0 ? { foreign } : {}),
  };
}

/** Maximum nesting of branches in a file. */
const maxDepth = 200;

function passagesIn(value: unknown, id: () => string, depth: number): Passage[] {
  if (depth > maxDepth) return [];
  return listIn(value).map((one) => {
    const passage = fieldsOf(one);
    const branches = listIn(passage.branches, 1000).map((branch) => branchIn(fieldsOf(branch), id, depth));
    const shown = Math.trunc(numberIn(passage.shown, 0));
    const name = textIn(passage.name);
    return {
      id: id(),
      by: passage.by === 'person' ? 'person' : 'model',
      branches: branches.length > 0 ? branches : [{ text: '' }],
      shown: branches[shown] ? shown : 0,
      ...(name === '' ? {} : { name }),
    };
  });
}

function branchIn(branch: Fields, id: () => string, depth: number): Branch {
  const after = passagesIn(branch.after, id, depth + 1);
  return { text: textIn(branch.text), ...(after.length > 0 ? { after } : {}) };
}

function entryOf(entry: Fields, id: () => string): WorldEntry {
  return newEntry({
    id: id(),
    keys: textsIn(entry.keys, 1000),
    secondaryKeys: textsIn(entry.secondaryKeys, 1000),
    excludedBy: textsIn(entry.excludedBy, 1000),
    content: textIn(entry.content),
    comment: textIn(entry.comment),
    constant: flagIn(entry.constant, false),
    selective: flagIn(entry.selective, false),
    enabled: flagIn(entry.enabled, true),
    order: numberIn(entry.order, 100),
    group: textIn(entry.group),
    chance: percentIn(entry.chance),
    ...optionalFields(entry),
  });
}

const flags = ['caseSensitive', 'wholeWords', 'regex', 'notRecursive', 'stopsRecursion'] as const;
const counts = ['depth', 'scanDepth'] as const;
const choices = {
  secondaryLogic: ['any', 'all', 'not-any', 'not-all'],
  position: ['before', 'after', 'depth'],
  role: ['system', 'user', 'assistant'],
} as const;

/** The fields that an entry may lack, without those of another type. */
function optionalFields(entry: Fields): Partial<WorldEntry> {
  const valid = [
    ...flags.filter((name) => typeof entry[name] === 'boolean'),
    ...counts.filter((name) => numberIn(entry[name], -1) >= 0),
    ...Object.entries(choices).flatMap(([name, words]) => (words.some((word) => word === entry[name]) ? [name] : [])),
    ...(isObject(entry.foreign) ? ['foreign'] : []),
  ];
  return Object.fromEntries(valid.map((name) => [name, entry[name]]));
}
