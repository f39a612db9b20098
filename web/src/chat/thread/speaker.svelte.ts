import { call } from '../../api/call.ts';
import { characters } from '../../characters/library.svelte.ts';
import type { Turn } from '../../conversations/conversation.ts';
import { library } from '../../conversations/library.svelte.ts';
import { shownText } from '../../replies/prompt.svelte.ts';
import { settings } from '../../settings/settings.svelte.ts';
import { notifyFailure } from '../../ui/notices.svelte.ts';
import { spokenText } from './spoken-text.ts';

/** The message that is read aloud; one at a time. */
export const speaker = $state<{ turnId: string | undefined; state: 'off' | 'fetching' | 'speaking' }>({
  turnId: undefined,
  state: 'off',
});
let stopCurrent: (() => void) | undefined;

export function stopSpeaking(): void {
  stopCurrent?.();
}

/** The voice of the character that speaks, else that of the settings; empty for the default of the server. */
export function voiceOf(turn: Pick<Turn, 'speaker'> | undefined): string {
  return characters.find(turn?.speaker)?.voice || settings.voice;
}

/** Without a voice, that of the speaker of the message. */
export async function speak(turnId: string, markdown: string, given?: string): Promise<void> {
  const again = speaker.turnId === turnId;
  stopSpeaking();
  if (again) return;
  const controller = new AbortController();
  let audio: HTMLAudioElement | undefined;
  let url = '';
  const end = (): void => {
    controller.abort();
    audio?.pause();
    if (url) URL.revokeObjectURL(url);
    if (stopCurrent === end) {
      stopCurrent = undefined;
      Object.assign(speaker, { turnId: undefined, state: 'off' });
    }
  };
  stopCurrent = end;
  Object.assign(speaker, { turnId, state: 'fetching' });
  try {
    const chat = library.chats.find(({ turns }) => turns[turnId] !== undefined);
    const turn = chat?.turns[turnId];
    const voice = given ?? voiceOf(turn);
    const body = {
      input: spokenText(turn ? shownText(chat, turn, markdown) : markdown),
      ...(voice ? { voice } : {}),
      response_format: 'mp3',
    };
    const response = await call('v1/audio/speech', { body, signal: controller.signal });
    url = URL.createObjectURL(await response.blob());
    audio = new Audio(url);
    audio.onended = end;
    audio.onerror = end;
    speaker.state = 'speaking';
    await audio.play();
    void import('../../models/offers.ts').then(({ offerPack }) => offerPack('speech'));
  } catch (thrown) {
    end();
    notifyFailure(thrown);
  }
}
