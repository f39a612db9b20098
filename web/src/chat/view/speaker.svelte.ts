import { call } from '../../api/call.ts';
import { notifyFailure } from '../../app/notices.svelte.ts';
import { settings } from '../../settings/settings.svelte.ts';
import { spokenText } from '../thread/spoken-text.ts';

/** The message that is read aloud; one at a time. */
export const speaker = $state<{ turnId: string | undefined; state: 'off' | 'fetching' | 'speaking' }>({
  turnId: undefined,
  state: 'off',
});
let stopCurrent: (() => void) | undefined;

export function stopSpeaking(): void {
  stopCurrent?.();
}

export async function speak(turnId: string, markdown: string): Promise<void> {
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
    const body = {
      input: spokenText(markdown),
      ...(settings.voice ? { voice: settings.voice } : {}),
      response_format: 'mp3',
    };
    const response = await call('v1/audio/speech', { body, signal: controller.signal });
    url = URL.createObjectURL(await response.blob());
    audio = new Audio(url);
    audio.onended = end;
    audio.onerror = end;
    speaker.state = 'speaking';
    await audio.play();
  } catch (thrown) {
    end();
    notifyFailure(thrown);
  }
}
