import { call, read } from '../api/call.ts';
import { serverEvents } from '../api/events.ts';
import { tell, tellFailure } from '../app/notices.svelte.ts';
import { server } from '../app/server.svelte.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { addBranch, append, removeBranch, replacePassage, withText } from '../story/passages.ts';
import { type Budget, buildPrompt, type Wanted } from '../story/prompt.ts';
import { newPassage, type Story, textOf } from '../story/story.ts';
import { cutAtStop, stopsOf, tidied } from '../story/turns.ts';
import { library } from './library.svelte.ts';
import {
  choicesOf,
  type Ended,
  polledReply,
  type ReplyListener,
  type ReplyParts,
  recoveredReply,
  streamedReply,
} from './reply.ts';
import { joined, replyRequest } from './request.ts';

const parts: ReplyParts = {
  stream: async function* (body, signal, onComment) {
    const response = await call('api/extra/generate/stream', { body, signal });
    if (response.body) yield* serverEvents(response.body, onComment);
  },
  ask: (path, body, signal) => read(path, { body, signal }),
  pause: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

interface Running {
  readonly story: string;
  readonly passage: string;
  readonly key: string;
  readonly stop: AbortController;
}

/** Writes replies into stories; one at a time. */
class Writer {
  running = $state.raw<Running>();
  /** Why nothing is there yet. */
  waits = $state('');
  /** Measured with the text at hand; a cautious guess before. */
  charactersPerToken = $state(3.2);

  budget(): Budget {
    const { context } = server;
    if (context <= 0) return { tokens: Number.POSITIVE_INFINITY, charactersPerToken: this.charactersPerToken };
    // A little is left for what the server adds: the beginning of the text, and the marks of turns.
    const tokens = Math.max(context - replyLength() - 16, Math.floor(context * 0.35));
    return { tokens, charactersPerToken: this.charactersPerToken };
  }

  /** A new passage, another one instead of `passage`, or more of the last one. */
  async write(
    story: Story,
    how: { kind: 'new' } | { kind: 'more' } | { kind: 'again'; passage: string },
  ): Promise<void> {
    if (this.running) return;
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
    const body = replyRequest(story, built, pending, {
      sampling: settings.sampling,
      replyLength: replyLength(),
      probabilities: settings.showProbabilities,
      context: server.context,
    });
    const reply = settings.delivery === 'polling' ? polledReply : streamedReply;
    await this.#run(story.id, pending, (listener, signal) => reply(parts, body, listener, signal));
  }

  /** Goes on with a reply that the page left in the middle. */
  async resume(story: Story): Promise<void> {
    const { pending } = story;
    if (!pending || this.running) return;
    await this.#run(story.id, pending, (listener, signal) => recoveredReply(parts, pending.key, listener, signal));
  }

  /** The server is told first: it would otherwise go on writing for somebody who may come back. */
  async stop(): Promise<void> {
    const { running } = this;
    if (!running) return;
    await parts.ask('api/extra/abort', { genkey: running.key }).catch(() => {});
    setTimeout(() => running.stop.abort(), 700);
  }

  async #run(
    story: string,
    pending: NonNullable<Story['pending']>,
    reply: (listener: ReplyListener, signal: AbortSignal) => Promise<Ended>,
  ): Promise<void> {
    const { key, passage, begin, stops } = pending;
    const running: Running = { story, passage, key, stop: new AbortController() };
    this.running = running;
    this.waits = '';
    let newest = '';
    let scheduled = false;
    const show = (): void => {
      scheduled = false;
      if (this.running !== running) return;
      library.change(story, (now) =>
        replacePassage(now, passage, (old) => withText(old, joined(now, passage, begin, newest))),
      );
    };
    const listener: ReplyListener = {
      text: (whole) => {
        newest = cutAtStop(whole, stops);
        this.waits = '';
        if (scheduled) return;
        scheduled = true;
        if (document.visibilityState === 'visible') requestAnimationFrame(show);
        else setTimeout(show, 250);
      },
      waits: (why) => {
        this.waits = why;
      },
    };
    let ended: Ended | undefined;
    try {
      ended = await reply(listener, running.stop.signal);
      newest = cutAtStop(ended.text, stops);
      for (const warning of ended.warnings) tell(warning, { kind: 'bad' });
    } catch (thrown) {
      tellFailure(thrown);
    }
    const choices = ended && settings.showProbabilities ? await this.#choices(key, newest) : undefined;
    this.running = undefined;
    this.waits = '';
    library.change(story, (now) => {
      const { pending: _, ...settled } = now;
      return replacePassage(settled, passage, (old) => {
        const text = joined(now, passage, begin, newest);
        return withText(old, newest === '' ? text : tidied(now, text), choices);
      });
    });
    if (newest === '') this.#nothingCame(story, passage, begin, ended);
    await library.flush();
  }

  async #choices(genkey: string, reply: string) {
    type Answer = { readonly logprobs: Parameters<typeof choicesOf>[0] };
    const answer = await parts.ask<Answer>('api/extra/last_logprobs', { genkey }).catch(() => undefined);
    return choicesOf(answer?.logprobs, reply);
  }

  #nothingCame(story: string, passage: string, begin: string, ended: Ended | undefined): void {
    const kept = library.find(story)?.passages.find(({ id }) => id === passage);
    if (kept && textOf(kept).trim() === begin.trim() && begin.trim() === '')
      library.change(story, (now) => removeBranch(now, passage));
    if (ended?.reason === 'lost')
      tell('The server no longer has this reply. Press Retry for a new one.', { kind: 'bad' });
    else if (ended?.reason === 'stop') tell('The model returned an empty reply.');
  }
}

/** The field may be empty while somebody types another number. */
function replyLength(): number {
  return settings.replyLength >= 1 ? Math.floor(settings.replyLength) : 512;
}

export const writer = new Writer();
