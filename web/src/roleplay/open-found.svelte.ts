import { characters, loadCharacters, personas } from '../characters/library.svelte.ts';
import { type Character, changed, newCharacter, type Persona } from '../conversations/character.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { emptyChat, renamed } from '../conversations/tree.ts';
import type { Lorebook } from '../files/lorebook.ts';
import { contentOf, type Found, maxFileBytes, storyOfText } from '../files/open-file.ts';
import { offeredScripts, withOfferedScripts } from '../files/regex-scripts.ts';
import type { NamedChat } from '../files/silly-tavern-chat.ts';
import { texts } from '../files/texts.ts';
import { Unreadable } from '../files/unreadable.ts';
import { texts as regexTexts } from '../regex/texts.ts';
import { newId } from '../saved/id.ts';
import { library as stories } from '../story/library.svelte.ts';
import { go, navigation, type Route } from '../ui/navigation.svelte.ts';
import { notify, notifyUndo } from '../ui/notices.svelte.ts';
import { startCharacterChat } from './chats.svelte.ts';

export interface OpenOptions {
  /**
   * What happens with files that belong nowhere: `nothing` returns undefined (the chat attaches them), `story` opens text as
   * a story, `error` throws.
   */
  readonly otherwise?: 'nothing' | 'story' | 'error';
}

/** Reads a file and puts its content into the library that it belongs to. */
export async function openFound(file: File, { otherwise = 'nothing' }: OpenOptions): Promise<Route | undefined> {
  if (file.size > maxFileBytes) {
    if (otherwise === 'nothing') return undefined;
    throw new Unreadable(texts.open.tooLarge(file.name, maxFileBytes / 1_048_576));
  }
  if (file.size === 0 && otherwise !== 'nothing') throw new Unreadable(texts.open.empty(file.name));
  const content = await contentOf(file, { newId, now: Date.now() }).catch((thrown: unknown) => {
    throw thrown instanceof Unreadable ? new Unreadable(texts.open.unreadable(file.name, thrown.message)) : thrown;
  });
  if (content.kind === 'text' && otherwise === 'story') {
    const story = storyOfText(content.text, newId, Date.now());
    return keep({ kind: 'story', story: { ...story, title: file.name.replace(/\.[^.]*$/, '') } }, file.name);
  }
  const route = await keep(content, file.name);
  if (route === undefined && otherwise !== 'nothing') throw new Unreadable(texts.open.unknown(file.name));
  return route;
}

async function keep(content: Found, name: string): Promise<Route | undefined> {
  await Promise.all([loadCharacters(), chatRecords.load()]);
  switch (content.kind) {
    case 'character':
      return keepCharacter(content.character);
    case 'lorebook':
      return keepLorebook(content.lorebook);
    case 'chats': {
      if (content.chats.length === 0) throw new Unreadable(texts.open.noChats(name));
      // The same file may be opened again: those that are there stay as they are.
      const added = content.cast.characters.filter(({ id }) => !characters.find(id));
      for (const character of added) characters.put(character);
      for (const persona of content.cast.personas) if (!personas.find(persona.id)) personas.put(persona);
      for (const chat of content.chats) chatRecords.put(chat);
      notifyAdded(
        content.chats.length,
        added.map((one) => one.name),
      );
      return { view: 'chat', id: content.chats[0]?.id ?? '' };
    }
    case 'named-chat':
      return keepNamed(content.named);
    case 'story': {
      await stories.load();
      stories.put(content.story);
      notify(texts.open.storyAdded(content.story.title));
      return { view: 'write', id: content.story.id };
    }
    case 'preset':
      return keepPresets(content.value, name);
    case 'regex-scripts':
      return keepScripts(content.value);
    case 'quick-replies':
      return keepQuickReplies(content.value, name);
    default:
      return undefined;
  }
}

/** A new chat with the character opens; Undo goes back to what was open before. */
function keepCharacter(character: Character): Route {
  const before = navigation.route;
  characters.put(character);
  const { id } = startCharacterChat([character]);
  const run = (): void => {
    if (navigation.route.id === id) go(before);
    void chatRecords.remove(id);
    characters.remove(character.id);
  };
  notifyUndo(texts.open.characterAdded(character.name), run);
  offerScripts(character);
  return { view: 'chat', id };
}

/** The page stays where it is: presets are chosen in the settings. */
async function keepPresets(value: unknown, name: string): Promise<Route> {
  const [{ presetsOf }, { addPresets, presets }] = await Promise.all([
    import('../settings/presets.ts'),
    import('../settings/presets.svelte.ts'),
  ]);
  await presets.load();
  const added = addPresets(presetsOf(value, name.replace(/\.[^.]*$/, '')));
  if (added.length === 0) throw new Unreadable(texts.open.unknown(name));
  notify(texts.open.presetsAdded(added.map((preset) => preset.name)));
  return navigation.route;
}

function notifyAdded(chats: number, characters: readonly string[]): void {
  const { chatsAdded, newCharacters } = texts.open;
  notify([chatsAdded(chats), ...(characters.length > 0 ? [newCharacters(characters)] : [])].join(' '));
}

/** After those that are there, for all characters. */
async function keepScripts(value: unknown): Promise<Route> {
  const [{ generalScripts }, { scriptsIn }, { texts: words }] = await Promise.all([
    import('../regex/general.ts'),
    import('../files/regex-scripts.ts'),
    import('../regex/texts.ts'),
  ]);
  await generalScripts.load();
  const added = scriptsIn(value, newId);
  generalScripts.change((now) => [...now, ...added]);
  notify(words.imported(added.length));
  return navigation.route;
}

async function keepQuickReplies(value: unknown, name: string): Promise<Route> {
  const [{ quickReplies }, { quickRepliesIn }, { texts: words }] = await Promise.all([
    import('../quick-replies/quick-replies.ts'),
    import('../quick-replies/sets.ts'),
    import('../quick-replies/texts.ts'),
  ]);
  const replies = quickRepliesIn(value, newId);
  if (replies.length === 0) throw new Unreadable(words.unreadable(name));
  await quickReplies.load();
  quickReplies.change((now) => [...now, ...replies]);
  notify(words.imported(replies.length));
  return navigation.route;
}

/** Scripts of a card change what is shown and sent: they are used only if the person says so. */
function offerScripts(character: Character): void {
  const count = offeredScripts(character, newId).length;
  if (count === 0) return;
  const run = (): void => characters.change(character.id, (now) => changed(withOfferedScripts(now, newId), {}));
  notify(regexTexts.cardOffers(character.name, count), { action: { label: regexTexts.use, run } });
}

/** Into the open chat or story; else into a new chat. */
async function keepLorebook({ world, options }: Lorebook): Promise<Route> {
  const { view, id } = navigation.route;
  const name = options.name ?? texts.open.lorebook;
  const story = view === 'write' ? stories.find(id) : undefined;
  const { lorebookAddedToChat, lorebookAddedToStory } = texts.open;
  notify((story ? lorebookAddedToStory : lorebookAddedToChat)(name, world.length));
  if (story) {
    stories.change(story.id, (now) => ({ ...now, world: [...now.world, ...world] }));
    return { view: 'write', id: story.id };
  }
  const open = view === 'chat' ? chatRecords.find(id) : undefined;
  const chat = open ?? renamed(emptyChat(newId(), Date.now()), name);
  if (!open) chatRecords.put(chat);
  change(chat.id, (now) => ({ ...now, world: [...(now.world ?? []), ...world] }));
  return { view: 'chat', id: chat.id };
}

/** Characters and the persona are found by name, or made. */
function keepNamed({ chat, user, characters: names }: NamedChat): Route {
  const added: string[] = [];
  const cast = names.map((name) => {
    const known = characters.all.find((one) => one.name === name || one.nickname === name);
    if (known) return known;
    const made = newCharacter({ id: newId(), changedAt: Date.now(), name });
    characters.put(made);
    added.push(name);
    return made;
  });
  const persona = user === '' ? undefined : personaNamed(user);
  const turns = Object.entries(chat.turns).map(([id, turn]) => {
    const speaker = turn.role === 'assistant' ? cast[names.indexOf(turn.name ?? '')]?.id : undefined;
    return [id, speaker === undefined ? turn : { ...turn, speaker }] as const;
  });
  chatRecords.put({
    ...chat,
    turns: Object.fromEntries(turns),
    characters: cast.map(({ id }) => id),
    ...(persona ? { persona: persona.id } : {}),
  });
  notifyAdded(1, added);
  return { view: 'chat', id: chat.id };
}

function personaNamed(name: string): Persona {
  const known = personas.all.find((persona) => persona.name === name);
  if (known) return known;
  const made: Persona = { id: newId(), changedAt: Date.now(), name, description: '' };
  personas.put(made);
  return made;
}
