import { tabId } from './id.ts';

/** Ends the ownership. */
export type Release = () => void;

/** Without Web Locks (pages from other machines over plain HTTP) tabs ask each other. */
type Message = { readonly ask: string; readonly from: string } | { readonly held: string };

const answerMs = 250;
const againMs = 1500;
const held = new Set<string>();
/** Names that this tab asks for, and whether another tab has answered. */
const asking = new Map<string, { answered: boolean }>();
let channel: BroadcastChannel | undefined;

function tabs(): BroadcastChannel {
  if (channel) return channel;
  channel = new BroadcastChannel('parley.owners');
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if ('held' in data) {
      const own = asking.get(data.held);
      if (own) own.answered = true;
      return;
    }
    // Of two tabs that ask at the same time, one gets it.
    if (held.has(data.ask) || (asking.has(data.ask) && tabId < data.from)) channel?.postMessage({ held: data.ask });
  };
  return channel;
}

/** Takes a name that no other tab knows yet. It is free again after the release, or when the tab is closed. */
export function hold(name: string): Release {
  if (!navigator.locks) return holdHere(name);
  let release: Release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  void navigator.locks.request(name, () => released);
  return release;
}

/** Waits until no other tab has this name. Rejects if the signal aborts before. */
export async function acquire(name: string, signal: AbortSignal): Promise<Release> {
  if (navigator.locks)
    return new Promise((resolve, reject) => {
      navigator.locks.request(name, { signal }, () => new Promise<void>((release) => resolve(release))).catch(reject);
    });
  for (;;) {
    signal.throwIfAborted();
    if (await isFree(name)) return holdHere(name);
    await wait(againMs);
  }
}

/** Takes the name, or returns undefined if another tab has it. */
export async function tryAcquire(name: string): Promise<Release | undefined> {
  if (navigator.locks)
    return new Promise((resolve, reject) => {
      navigator.locks
        .request(name, { ifAvailable: true }, (lock) => {
          if (lock) return new Promise<void>((release) => resolve(release));
          resolve(undefined);
          return undefined;
        })
        .catch(reject);
    });
  return (await isFree(name)) ? holdHere(name) : undefined;
}

function holdHere(name: string): Release {
  tabs();
  held.add(name);
  return () => void held.delete(name);
}

async function isFree(name: string): Promise<boolean> {
  if (held.has(name) || asking.has(name)) return false;
  const own = { answered: false };
  asking.set(name, own);
  tabs().postMessage({ ask: name, from: tabId });
  await wait(answerMs);
  asking.delete(name);
  return !own.answered;
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
