import { call } from '../../api/call.ts';
import { characters } from '../../characters/library.svelte.ts';
import type { Turn } from '../../conversations/conversation.ts';
import { chatRecords } from '../../conversations/library.svelte.ts';
import { resolvedText } from '../../replies/message-texts.svelte.ts';
import { settings } from '../../settings/settings.svelte.ts';
import type { StoryPart } from '../../sound/narration.ts';
import { notifyFailure } from '../../ui/notices.svelte.ts';
import { spokenParts, spokenText } from './spoken-text.ts';

/** Samples per second of `pcm`. */
const pcmRate = 24_000;

/** The message that is read aloud; one at a time. */
export const speaker = $state<{ turnId: string | undefined; state: 'off' | 'fetching' | 'speaking' }>({
  turnId: undefined,
  state: 'off',
});
let stopCurrent: (() => void) | undefined;

export function stopSpeaking(): void {
  stopCurrent?.();
}

/** Who reads a message. */
export interface Voices {
  /** Empty for the default of the server. */
  readonly voice: string;
  /** Reads what nobody says; empty for the same voice. */
  readonly narrator: string;
  /** What a text without quotation marks is. */
  readonly plain: StoryPart['kind'];
}

/** Those of the character that speaks, else those of the settings. Replies of an assistant quote, but nobody speaks in them. */
function voicesOf(turn: Pick<Turn, 'speaker'> | undefined): Voices {
  const character = characters.find(turn?.speaker);
  const narrator = character ? character.narratorVoice || settings.narratorVoice : '';
  return { voice: character?.voice || settings.voice, narrator, plain: 'speech' };
}

/** Without voices, those of the speaker of the message. */
export async function speak(turnId: string, markdown: string, given?: Voices): Promise<void> {
  const again = speaker.turnId === turnId;
  stopSpeaking();
  if (again) return;
  const controller = new AbortController();
  const { signal } = controller;
  let close = (): void => {};
  const end = (): void => {
    controller.abort();
    close();
    if (stopCurrent === end) {
      stopCurrent = undefined;
      Object.assign(speaker, { turnId: undefined, state: 'off' });
    }
  };
  stopCurrent = end;
  Object.assign(speaker, { turnId, state: 'fetching' });
  const fetched = (input: string, voice: string, format: string): Promise<Response> =>
    call('v1/audio/speech', { body: { input, ...(voice ? { voice } : {}), response_format: format }, signal });
  try {
    const chat = chatRecords.all.find(({ turns }) => turns[turnId] !== undefined);
    const turn = chat?.turns[turnId];
    const { voice, narrator, plain } = given ?? voicesOf(turn);
    const text = turn ? resolvedText(chat, turn, markdown) : markdown;
    const parts = narrator === '' || narrator === voice ? [] : spokenParts(text, plain);
    if (parts.some(({ kind }) => kind === 'narration')) {
      const { Player } = await import('../../sound/player.ts');
      let isComplete = false;
      const player = new Player(pcmRate, () => isComplete && end());
      close = () => player.close();
      // The next part is fetched while the one before it plays, so that there is no gap.
      for (const part of parts) {
        const response = await fetched(part.text, part.kind === 'speech' ? voice : narrator, 'pcm');
        const bytes = await response.arrayBuffer();
        signal.throwIfAborted();
        player.add(turnId, new Int16Array(bytes, 0, bytes.byteLength >> 1));
        speaker.state = 'speaking';
      }
      isComplete = true;
      if (!player.playing) end();
    } else {
      const url = URL.createObjectURL(await (await fetched(spokenText(text), voice, 'mp3')).blob());
      const audio = new Audio(url);
      close = () => {
        audio.pause();
        URL.revokeObjectURL(url);
      };
      signal.throwIfAborted();
      audio.onended = end;
      audio.onerror = end;
      speaker.state = 'speaking';
      await audio.play();
    }
    void import('../../models/offers.ts').then(({ offerPack }) => offerPack('speech'));
  } catch (thrown) {
    end();
    notifyFailure(thrown);
  }
}
