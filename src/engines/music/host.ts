import type { MusicEngine, MusicEvent, MusicFacts, MusicRequest } from '../../core/music.ts';
import { TaskEngine } from '../host/task-engine.ts';
import type { MusicOptions, MusicTold } from './messages.ts';

/** Host of the music worker process. */
export class MusicHost extends TaskEngine<MusicOptions, MusicFacts, MusicRequest, MusicTold> implements MusicEngine {
  async *generate(request: MusicRequest, signal: AbortSignal): AsyncGenerator<MusicEvent> {
    for await (const { event, attachments } of this.run(request, signal)) {
      if (event.type !== 'audio') yield event;
      else for (const bytes of attachments) yield { type: 'audio', bytes };
    }
  }
}
