/** Closes an audio context that may be closed already: the browser does so by itself when it loses the device. */
export function closeAudio(context: Pick<AudioContext, 'state' | 'close'>): void {
  if (context.state !== 'closed') void context.close();
}
