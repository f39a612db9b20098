import { call, read } from '../api/call.ts';
import { pause, type ReplyContext, requestReply, resumeReply } from '../api/running-reply.ts';
import { texts } from '../api/texts.ts';
import { chosenModel } from '../models/models.svelte.ts';
import { server } from '../models/server.svelte.ts';
import { tellDone } from '../notifications/tell-done.ts';
import { newId } from '../saved/id.ts';
import { acquire, hold } from '../saved/ownership.ts';
import { settings } from '../settings/settings.svelte.ts';
import { nativeSettings } from '../settings/state.svelte.ts';
import { library } from '../story/library.svelte.ts';
import { addBranch, append, removeBranch, replacePassage, withText } from '../story/passages.ts';
import { type Budget, type BuiltPrompt, buildPrompt, type Wanted } from '../story/prompt.ts';
import { newPassage, type Story, textOf, titleOf } from '../story/story.ts';
import { cutAtStop, stopsOf, trimmedReply } from '../story/turns.ts';
import { notify, reported } from '../ui/notices.svelte.ts';
import { pageSettings } from './page-state.svelte.ts';
import { choicesOf, joinedReply, replyRequest, type StoryReply, storyReplies } from './reply.ts';

interface Running {
  readonly story: string;
  readonly passage: string;
  readonly key: string;
  readonly stop: AbortController;
  /** Another tab fetches it; its text arrives with the story. */
  readonly followed?: boolean;
}

const measureMs = 700;

/** Generates replies and writes them into stories; one at a time. */
class Writer {
  running = $state.raw<Running>();
  /** Queue position or load progress while there is no text yet. */
  status = $state('');
  /** Measured with the current text; a low estimate before. */
  charactersPerToken = $state(3.2);

  #measuring: ReturnType<typeof setTimeout> | undefined;
  #measured = '';

  budget(): Budget {
    const { context } = server;
    if (context <= 0) return { tokens: Number.POSITIVE_INFINITY, charactersPerToken: this.charactersPerToken };
    // Reserve for tokens that the server adds: the start of the text and turn markers.
    const tokens = Math.max(context - replyLength() - 16, Math.floor(context * 0.35));
    return { tokens, charactersPerToken: this.charactersPerToken };
  }

  /** The prompt that the next request would have. */
  promptOf(story: Story): BuiltPrompt {
    return buildPrompt(story, this.budget(), { kind: 'new', begin: story.prefill });
  }

  /** Counts the tokens of a prompt after a pause in typing, to correct `charactersPerToken`. */
  measure({ memory, prompt }: BuiltPrompt): void {
    clearTimeout(this.#measuring);
    const text = memory + prompt;
    // A short text says little about the length of its tokens.
    if (text.length < 200 || text === this.#measured) return;
    this.#measuring = setTimeout(async () => {
      this.#measured = text;
      const counted = await read<{ value: number }>('api/extra/tokencount', {
        body: { prompt: text },
        background: true,
      }).catch(() => undefined);
      if (!counted || counted.value <= 0) return;
      const measured = text.length / counted.value;
      // A tiny change would move the cut of the text, and with it the text that is measured, again and again.
      if (Math.abs(measured / this.charactersPerToken - 1) > 0.02) this.charactersPerToken = measured;
    }, measureMs);
  }

  /** A new passage, another one instead of `passage`, or more of the last one. */
  async write(
    story: Story,
    how: { kind: 'new' } | { kind: 'more' } | { kind: 'again'; passage: string },
  ): Promise<void> {
    if (this.running && (!this.running.followed || this.running.story === story.id)) return;
    this.running?.stop.abort();
    const begin = how.kind === 'more' ? '' : story.prefill;
    const wanted: Wanted = how.kind === 'more' ? how : { kind: 'new', begin };
    const at = how.kind === 'again' ? story.passages.findIndex(({ id }) => id === how.passage) : story.passages.length;
    const built = buildPrompt({ ...story, passages: story.passages.slice(0, at) }, this.budget(), wanted, Math.random);
    const last = story.passages.at(-1);
    const passage = how.kind === 'again' ? how.passage : how.kind === 'more' && last ? last.id : newId();
    const pending = {
      key: `parley-${newId()}`,
      passage,
      begin: how.kind === 'more' && last ? textOf(last) : begin,
      stops: stopsOf(story),
    };
    const release = hold(lockOf(pending.key));
    library.change(
      story.id,
      (now) => {
        const next =
          how.kind === 'again'
            ? addBranch(now, passage, begin)
            : how.kind === 'more'
              ? replacePassage(now, passage, (open) => ({ ...open }))
              : append(now, newPassage(passage, 'model', begin));
        return { ...next, pending };
      },
      { undoable: true },
    );
    await this.#run(story.id, pending, async (context) => {
      const body = replyRequest(story, built, pending, {
        sampling: await nativeSettings(),
        stops: settings.stopSequences,
        replyLength: settings.replyLength,
        probabilities: pageSettings.probabilities,
        context: server.context,
        model: chosenModel(),
      });
      return requestReply(storyReplies, body, context);
    }).finally(release);
  }

  /** Shows a reply that another tab fetches. Fetches it if no tab does: after a reload, or if that tab is closed. */
  async resume(story: Story): Promise<void> {
    const { pending, id } = story;
    if (!pending || this.running) return;
    const { key, passage } = pending;
    const followed: Running = { story: id, passage, key, stop: new AbortController(), followed: true };
    this.running = followed;
    this.status = '';
    const unwatch = library.onChange((changed, record) => {
      if (changed === id && record?.pending?.key !== key) followed.stop.abort();
    });
    let release = () => {};
    try {
      release = await acquire(lockOf(key), followed.stop.signal);
      const now = await library.refresh(id);
      if (now?.pending?.key !== key) return;
      unwatch();
      const known = soFar(now, now.pending);
      await this.#run(id, now.pending, (context) => resumeReply(storyReplies, key, context, known));
    } catch {
      // The reply has ended.
    } finally {
      unwatch();
      release();
      if (this.running === followed) this.running = undefined;
    }
  }

  /** Aborts on the server first, since the generation continues without a connection. */
  async stop(): Promise<void> {
    const { running } = this;
    if (!running) return;
    await call('api/extra/abort', { body: { genkey: running.key } }).catch(() => {});
    if (!running.followed) setTimeout(() => running.stop.abort(), 700);
  }

  async #run(
    story: string,
    pending: NonNullable<Story['pending']>,
    fetchReply: (context: ReplyContext<StoryReply>) => Promise<StoryReply>,
  ): Promise<void> {
    const { key, passage, begin, stops } = pending;
    const running: Running = { story, passage, key, stop: new AbortController() };
    this.running = running;
    this.status = '';
    const since = Date.now();
    const stored = library.find(story);
    let newest = stored ? soFar(stored, pending).text : '';
    let scheduled = false;
    const show = (): void => {
      scheduled = false;
      if (this.running !== running) return;
      library.change(story, (now) =>
        replacePassage(now, passage, (old) => withText(old, joinedReply(now, passage, begin, newest))),
      );
    };
    const context: ReplyContext<StoryReply> = {
      call,
      wait: pause,
      signal: running.stop.signal,
      polling: settings.delivery === 'polling',
      onReply: ({ text }) => {
        if (text === '') return;
        newest = cutAtStop(text, stops);
        this.status = '';
        if (scheduled) return;
        scheduled = true;
        if (document.visibilityState === 'visible') requestAnimationFrame(show);
        else setTimeout(show, 250);
      },
      onStatus: (status) => {
        this.status = status;
      },
    };
    let reply: StoryReply | undefined;
    await reported(async () => {
      reply = await fetchReply(context);
      newest = cutAtStop(reply.text, stops);
      for (const problem of [reply.failed ?? [], reply.warnings].flat()) notify(problem, { kind: 'bad' });
    });
    const choices = reply && pageSettings.probabilities ? await this.#choices(key, newest) : undefined;
    this.running = undefined;
    this.status = '';
    library.change(story, (now) => {
      const { pending: _, ...settled } = now;
      return replacePassage(settled, passage, (old) => {
        const text = joinedReply(now, passage, begin, newest);
        return withText(old, newest === '' ? text : trimmedReply(now, text), choices);
      });
    });
    if (newest === '') this.#emptyReply(story, passage, begin, reply);
    await library.flush();
    tellDone(() => {
      const written = library.find(story);
      const title = written ? titleOf(written) : document.title;
      return { kind: reply && !reply.failed ? 'reply' : 'failed', title, route: { view: 'write', id: story }, since };
    });
  }

  async #choices(genkey: string, reply: string) {
    type Answer = { readonly logprobs: Parameters<typeof choicesOf>[0] };
    const answer = await read<Answer>('api/extra/last_logprobs', { body: { genkey } }).catch(() => undefined);
    return choicesOf(answer?.logprobs, reply);
  }

  /** Removes the passage again, unless it already had text. */
  #emptyReply(story: string, passage: string, begin: string, reply: StoryReply | undefined): void {
    const written = library.find(story)?.passages.find(({ id }) => id === passage);
    if (written && textOf(written).trim() === '' && begin.trim() === '')
      library.change(story, (now) => removeBranch(now, passage));
    if (reply?.finish === 'stop') notify(texts.reply.empty);
  }
}

/** The stored text of a running reply. */
function soFar(story: Story, { passage, begin }: NonNullable<Story['pending']>): StoryReply {
  const stored = story.passages.find(({ id }) => id === passage);
  return { ...storyReplies.empty, text: stored ? textOf(stored).slice(begin.length) : '' };
}

const lockOf = (key: string): string => `parley.reply.${key}`;

/** The field may be empty while a new value is typed. */
function replyLength(): number {
  return settings.replyLength >= 1 ? Math.floor(settings.replyLength) : 512;
}

export const writer = new Writer();
