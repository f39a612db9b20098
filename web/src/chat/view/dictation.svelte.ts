import { texts } from '../../composer/texts.ts';
import { openMicrophone } from '../../sound/microphone.ts';
import { notify, notifyFailure } from '../../ui/notices.svelte.ts';
import { transcriptOf } from '../attachments/transcript.ts';

interface Dictated {
  /** Key of the draft to which the text belongs. */
  readonly draftKey: string;
  readonly text: string;
}

/** Dictation: records, then transcribes. */
export const dictation = $state<{
  state: 'off' | 'recording' | 'transcribing';
  seconds: number;
  /** What no field has taken yet: another chat or page may be open. */
  waiting: readonly Dictated[];
}>({ state: 'off', seconds: 0, waiting: [] });
let finish: ((draftKey: string) => void) | undefined;
/** Shorter recordings contain no words. */
const minMs = 300;

/** Starts recording, or ends it: the text is for the field in which it was ended. */
export async function dictate(draftKey: string): Promise<void> {
  if (finish) return finish(draftKey);
  let target = draftKey;
  // Until the microphone is open.
  finish = () => {};
  try {
    const { whole, stop } = await openMicrophone();
    finish = (endedAt) => {
      target = endedAt;
      stop();
    };
    Object.assign(dictation, { state: 'recording', seconds: 0 });
    const since = Date.now();
    const clock = setInterval(() => {
      dictation.seconds = Math.floor((Date.now() - since) / 1000);
    }, 200);
    const recording = await whole.finally(() => clearInterval(clock));
    dictation.state = 'transcribing';
    const text = Date.now() - since < minMs ? '' : await transcriptOf(recording);
    if (text === '') notify(texts.chat.noSpeech);
    else dictation.waiting = [...dictation.waiting, { draftKey: target, text }];
  } catch (thrown) {
    notifyFailure(thrown);
  } finally {
    dictation.state = 'off';
    finish = undefined;
  }
}

/** The texts for this field, which takes them. */
export function takeDictated(draftKey: string): readonly string[] {
  const taken = dictation.waiting.filter((one) => one.draftKey === draftKey);
  if (taken.length > 0) dictation.waiting = dictation.waiting.filter((one) => one.draftKey !== draftKey);
  return taken.map(({ text }) => text);
}
