import type { ChatService } from '../chat/service.ts';
import type { TextService } from '../core/text-service.ts';
import type { Call, Endpoint, Reply } from '../http/call.ts';

/** One model with everything that speaks for it: its own limits, names and chat format behind every path. */
export interface Room {
  readonly name: string;
  readonly text: TextService;
  readonly chat: ChatService;
  readonly endpoints: readonly Endpoint[];
}

/** A room that somebody is in is not closed behind their back. */
export interface Entered {
  readonly room: Room;
  leave(): void;
  /** Whether its model could not be had, and another one is to be asked. */
  givenUp?(): boolean;
}

/** Throws, in words of the core, where nobody of the name that was asked for is there. */
export type RoomChooser = (call: Call, endpoint: Pick<Endpoint, 'queued' | 'beside'>) => Promise<Entered>;

/**
 * The paths of the first room, each answered by whichever room is meant. A call has entered its room until its answer is out,
 * streams to their last piece.
 */
export function dispatched(first: Room, choose: RoomChooser): Endpoint[] {
  const handlers = new WeakMap<Room, Map<string, Endpoint['handle']>>();
  const handlersOf = (room: Room) => {
    const known = handlers.get(room) ?? new Map(room.endpoints.map((endpoint) => [keyOf(endpoint), endpoint.handle]));
    handlers.set(room, known);
    return known;
  };
  return first.endpoints.map((endpoint) => ({
    ...endpoint,
    handle: async (call) => {
      for (;;) {
        const { room, leave, givenUp } = await choose(call, endpoint);
        // Nothing has been said yet: the same can be asked of another one.
        const elsewhere = () => !call.signal.aborted && (givenUp?.() ?? false);
        try {
          const reply = await (handlersOf(room).get(keyOf(endpoint)) ?? endpoint.handle)(call);
          if ('stream' in reply) return { ...reply, stream: leaving(reply.stream, leave) };
          leave();
          if (reply.status < 400 || !elsewhere()) return reply;
        } catch (error) {
          leave();
          if (!elsewhere()) throw error;
        }
      }
    },
  }));
}

function keyOf({ method, match, path }: Endpoint): string {
  return `${method} ${match} ${path}`;
}

type Stream = Extract<Reply, { stream: unknown }>['stream'];

/** The same stream, and a word at its end. No generator of its own: a streamed token costs microseconds. */
function leaving(stream: Stream, leave: () => void): Stream {
  return {
    [Symbol.asyncIterator]() {
      const iterator = stream[Symbol.asyncIterator]();
      const ended = <Value>(result: IteratorResult<Value>): IteratorResult<Value> => {
        if (result.done) leave();
        return result;
      };
      return {
        next: () =>
          iterator.next().then(ended, (error: unknown) => {
            leave();
            throw error;
          }),
        return: async (value?: unknown) => {
          leave();
          return (await iterator.return?.(value as never)) ?? { done: true, value: undefined };
        },
      };
    },
  };
}
