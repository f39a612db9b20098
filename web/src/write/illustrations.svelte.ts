import { abortGeneration, read } from '../api/call.ts';
import { InlineDrawing } from '../draw/inline-drawing.svelte.ts';
import { chosenModel } from '../models/models.svelte.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { library } from '../story/library.svelte.ts';
import { type Illustration, type Story, textOf, titleOf } from '../story/story.ts';
import { sceneRequest, texts } from './texts.ts';

/** Where the image goes. */
type Note = Pick<Illustration, 'passage' | 'prompt'> & { readonly story: string };

/** The image that is being generated for a story. */
export const illustration = new InlineDrawing<Note>(
  'story',
  ({ story, passage, prompt }, blob) =>
    setIllustrations(story, (list) => [...list, { id: newId(), passage, prompt, blob }]),
  ({ story: id }) => {
    const story = library.find(id);
    return { title: story ? titleOf(story) : document.title, route: { view: 'write', id } };
  },
);
void library.load().then(() => illustration.resume());

const sceneTokens = 120;
/** The end of a story that the model reads, in characters. */
const sceneLength = 3000;

/** Asks the model what the last scene looks like, and draws it after the last passage. */
export async function illustrate(story: Story): Promise<void> {
  const last = story.passages.at(-1);
  if (!last || illustration.note) return;
  const noteOf = (prompt: string): Note => ({ story: story.id, passage: last.id, prompt });
  await illustration.startDescribed(story.id, (signal) => describedScene(story, signal), noteOf);
}

export function removeIllustration(story: string, id: string): void {
  setIllustrations(story, (list) => list.filter((one) => one.id !== id));
}

async function describedScene(story: Story, signal: AbortSignal): Promise<string> {
  const genkey = `PRLY${newId()}`;
  signal.addEventListener('abort', () => abortGeneration(genkey));
  const text = story.passages.map(textOf).join('').slice(-sceneLength);
  type Answer = { readonly choices: readonly { message: { content: string | null } }[] };
  const { choices } = await read<Answer>('v1/chat/completions', {
    signal,
    body: {
      ...settings.sampling,
      messages: [{ role: 'user', content: `${text}\n\n${sceneRequest}` }],
      max_tokens: sceneTokens,
      genkey,
      ...(chosenModel() === undefined ? {} : { model: chosenModel() }),
    },
  });
  const described = choices[0]?.message.content?.trim() ?? '';
  if (described === '') throw new Error(texts.illustration.notDescribed);
  return described;
}

/** Saved at once: what a closing page keeps for the next load has no images. */
function setIllustrations(story: string, make: (list: readonly Illustration[]) => readonly Illustration[]): void {
  const change = (now: Story): Story => ({ ...now, illustrations: make(now.illustrations ?? []) });
  library.change(story, change, { undoable: true });
}
