/** What the controls of a locked screen, a headset or a keyboard do. */
interface BackgroundControls {
  /** Shown on the locked screen. */
  readonly title: string;
  readonly toggleMicrophone: () => void;
  readonly end: () => void;
}

export interface Background {
  microphone(active: boolean): void;
  end(): void;
}

/**
 * Keeps a conversation going while the page is in the background. The screen does not switch itself off; if it is locked, the
 * system goes on as long as the page plays sound and records, which it shows to the person with these controls.
 */
export function runInBackground({ title, toggleMicrophone, end }: BackgroundControls): Background {
  const silence = silentAudio();
  void silence.play().catch(() => {});
  let lock: WakeLockSentinel | undefined;
  let over = false;
  // The system releases it whenever the page is hidden.
  const stayAwake = async (): Promise<void> => {
    if (document.hidden || (lock && !lock.released)) return;
    lock = await navigator.wakeLock?.request('screen').catch(() => undefined);
    if (over) await lock?.release();
  };
  void stayAwake();
  document.addEventListener('visibilitychange', stayAwake);
  const { mediaSession } = navigator;
  const actions = ['play', 'pause', 'togglemicrophone', 'stop', 'hangup'] as const;
  if (mediaSession) {
    const artwork = [{ src: new URL('icon-512.png', document.baseURI).href, sizes: '512x512', type: 'image/png' }];
    mediaSession.metadata = new MediaMetadata({ title, artist: 'Parley', artwork });
    mediaSession.playbackState = 'playing';
    for (const action of actions)
      handle(mediaSession, action, action === 'stop' || action === 'hangup' ? end : toggleMicrophone);
  }
  return {
    microphone: (active) => {
      if (!mediaSession) return;
      mediaSession.playbackState = active ? 'playing' : 'paused';
      void mediaSession.setMicrophoneActive?.(active);
    },
    end: () => {
      over = true;
      document.removeEventListener('visibilitychange', stayAwake);
      void lock?.release().catch(() => {});
      silence.pause();
      URL.revokeObjectURL(silence.src);
      if (!mediaSession) return;
      mediaSession.metadata = null;
      mediaSession.playbackState = 'none';
      for (const action of actions) handle(mediaSession, action, null);
    },
  };
}

/** Browsers refuse the actions that they do not know. */
function handle(session: MediaSession, action: string, handler: (() => void) | null): void {
  try {
    session.setActionHandler(action as MediaSessionAction, handler);
  } catch {
    // This browser has no such control.
  }
}

const rate = 8000;
const seconds = 10;

/**
 * Speech is played piece by piece, which systems do not count as playing: only an element that plays for more than five seconds
 * gets controls, and keeps the page alive between two answers.
 */
function silentAudio(): HTMLAudioElement {
  const samples = rate * seconds;
  const header = new DataView(new ArrayBuffer(44));
  const ascii = (offset: number, text: string) => {
    for (const [index, character] of [...text].entries()) header.setUint8(offset + index, character.charCodeAt(0));
  };
  ascii(0, 'RIFF');
  header.setUint32(4, 36 + samples, true);
  ascii(8, 'WAVEfmt ');
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, rate, true);
  header.setUint32(28, rate, true);
  header.setUint16(32, 1, true);
  header.setUint16(34, 8, true);
  ascii(36, 'data');
  header.setUint32(40, samples, true);
  // The middle of unsigned samples.
  const audio = new Audio(
    URL.createObjectURL(new Blob([header, new Uint8Array(samples).fill(128)], { type: 'audio/wav' })),
  );
  audio.loop = true;
  return audio;
}
