import { type Fields, fieldsOf, flagIn, listIn, numberIn, percentIn, textIn, textsIn } from '../api/loose.ts';
import { split } from '../story/passages.ts';
import {
  defaultNote,
  type Mode,
  modes,
  newEntry,
  newPassage,
  newStory,
  type Passage,
  type Story,
  type WorldEntry,
} from '../story/story.ts';
import { keysOf } from '../story/world-info.ts';
import { textsOfStory, turnsOf } from './lite-text.ts';

/** A KoboldAI Lite save. Its texts are shown one after the other, with marks for the speakers. */
export function isSave(value: unknown): boolean {
  const save = fieldsOf(value);
  return (
    ('gamestarted' in save || 'savedsettings' in save || 'memory' in save) && ('actions' in save || 'prompt' in save)
  );
}

const separator = '||$||';

export function storyOfSave(value: unknown, id: () => string, changed: number): Story {
  const save = fieldsOf(value);
  const settings = fieldsOf(save.savedsettings);
  const mode: Mode = modes[numberIn(settings.opmode, 1) - 1] ?? 'story';
  const me = textIn(settings.chatname).trim() || 'You';
  const [them = 'Parley', ...others] = textIn(settings.chatopponent)
    .split(separator)
    .map((name) => name.trim())
    .filter(Boolean);
  const texts = [textIn(save.prompt), ...textsIn(save.actions)];
  const { prompt: _, actions: __, memory: ___, worldinfo: ____, ...foreign } = save;
  return newStory({
    id: id(),
    changed,
    title: textIn(save.title),
    mode,
    me,
    them,
    oneLine: !flagIn(settings.multiline_replies ?? settings.allow_continue_chat, false),
    memory: textIn(save.memory),
    note: {
      text: textIn(save.authorsnote),
      template: textIn(save.anotetemplate) || defaultNote.template,
      depth: numberIn(save.anotestr, defaultNote.depth),
    },
    worldDepth: Math.max(0, numberIn(save.wisearchdepth, 0)),
    stops: textIn(save.extrastopseq)
      .split(separator)
      .filter((stop) => stop !== ''),
    world: listIn(save.worldinfo, 20_000).map((entry) => entryOf(entry, id)),
    passages: passagesOf(mode, texts, settings, { me, them, others }, id),
    foreign,
  });
}

function passagesOf(
  mode: Mode,
  texts: readonly string[],
  settings: Fields,
  names: { me: string; them: string; others: readonly string[] },
  id: () => string,
): Passage[] {
  if (mode === 'story') return texts.filter((text) => text !== '').flatMap((text) => split(text, 'model', id));
  const tags = { input: textIn(settings.instruct_starttag), output: textIn(settings.instruct_endtag) };
  return turnsOf(mode, texts.join(''), names, tags).map(({ by, text, name }) => ({
    ...newPassage(id(), by, text),
    ...(name === undefined ? {} : { name }),
  }));
}

function entryOf(value: unknown, id: () => string): WorldEntry {
  const entry = fieldsOf(value);
  return newEntry({
    id: id(),
    keys: keysOf(textIn(entry.key)),
    secondaryKeys: keysOf(textIn(entry.keysecondary)),
    excludedBy: keysOf(textIn(entry.keyanti)),
    content: textIn(entry.content),
    comment: textIn(entry.comment),
    constant: flagIn(entry.constant, false),
    selective: flagIn(entry.selective, false),
    enabled: !flagIn(entry.widisabled, false),
    group: textIn(entry.wigroup),
    chance: percentIn(entry.probability),
  });
}

/** Unknown fields of an imported save are written back unchanged. */
export function saveOfStory(story: Story): object {
  const foreign = story.foreign ?? {};
  const [prompt = '', ...actions] = textsOfStory(story);
  return {
    ...foreign,
    gamestarted: true,
    title: story.title,
    prompt,
    memory: story.memory,
    authorsnote: story.note.text,
    anotetemplate: story.note.template,
    anotestr: story.note.depth,
    actions,
    actions_metadata: {},
    worldinfo: [...story.world].sort((a, b) => a.order - b.order).map(saveOfEntry),
    wifolders_d: foreign.wifolders_d ?? {},
    wifolders_l: foreign.wifolders_l ?? [],
    wisearchdepth: story.worldDepth,
    wiinsertlocation: foreign.wiinsertlocation ?? 0,
    extrastopseq: story.stops.join(separator),
    savedsettings: {
      ...fieldsOf(foreign.savedsettings),
      opmode: modes.indexOf(story.mode) + 1,
      chatname: story.me,
      chatopponent: opponents(story).join(separator),
      multiline_replies: !story.oneLine,
      instruct_starttag: '{{[INPUT]}}',
      instruct_endtag: '{{[OUTPUT]}}',
      instruct_systag: '{{[SYSTEM]}}',
    },
  };
}

function opponents({ them, passages }: Story): string[] {
  return [...new Set([them, ...passages.flatMap(({ by, name }) => (by === 'model' && name ? [name] : []))])];
}

function saveOfEntry(entry: WorldEntry): object {
  return {
    key: entry.keys.join(','),
    keysecondary: entry.secondaryKeys.join(','),
    keyanti: entry.excludedBy.join(','),
    content: entry.content,
    comment: entry.comment,
    folder: null,
    selective: entry.selective,
    constant: entry.constant,
    probability: entry.chance,
    wigroup: entry.group,
    widisabled: !entry.enabled,
  };
}
