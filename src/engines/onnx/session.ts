import { type Native, openNative, type Pointer } from './native.ts';

/** Row-major. */
export interface Tensor {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Numbers, or indices such as tokens. */
export interface InputTensor {
  readonly data: Float32Array | BigInt64Array;
  readonly shape: readonly number[];
}

/** ONNXTensorElementDataType. */
const float32 = 1;
const int64 = 7;
/** ORT_ENABLE_ALL. */
const everyOptimization = 99;
/** Log level; errors are thrown. */
const onlyFatal = 4;

let environment: Pointer | undefined;

/** A session of ONNX Runtime. Runs on other threads; this one only copies tensors. */
export class OnnxSession {
  readonly #native: Native;
  readonly #session: Pointer;
  readonly #outputNames: readonly string[];
  #running = 0;
  #released = false;
  #freed = false;

  private constructor(native: Native, session: Pointer) {
    this.#native = native;
    this.#session = session;
    const allocator = native.made('allocator');
    this.#outputNames = Array.from({ length: Number(native.made('outputCount', session)) }, (_, index) => {
      const place = native.made('outputName', session, index, allocator);
      const name = native.textAt(place);
      native.call('freeByAllocator', allocator, place);
      return name;
    });
  }

  /** From the bytes of a model file, which are not needed afterwards. */
  static async open(model: Uint8Array, { threads }: { readonly threads: number }): Promise<OnnxSession> {
    const native = openNative();
    environment ??= native.made('createEnvironment', onlyFatal, 'parley');
    const options = native.made('createSessionOptions');
    try {
      native.call('setOptimizationLevel', options, everyOptimization);
      native.call('setThreads', options, threads);
      // Idle threads must not take CPU time from other engines.
      native.call('addSessionSetting', options, 'session.intra_op.allow_spinning', '0');
      const place = new BigUint64Array(1);
      await native.callAside('createSession', environment, model, model.byteLength, options, place);
      return new OnnxSession(native, place[0] as bigint);
    } finally {
      native.free('releaseSessionOptions', options);
    }
  }

  /** The signal terminates the run. */
  async run(inputs: Readonly<Record<string, InputTensor>>, signal?: AbortSignal): Promise<Record<string, Tensor>> {
    if (this.#released) throw new Error('the network was released');
    signal?.throwIfAborted();
    const native = this.#native;
    const values: Pointer[] = [];
    const outputs = new BigUint64Array(this.#outputNames.length);
    const runOptions = native.made('createRunOptions');
    const terminate = (): void => native.call('setTerminate', runOptions);
    signal?.addEventListener('abort', terminate, { once: true });
    this.#running += 1;
    try {
      const names = Object.keys(inputs);
      for (const name of names) values.push(this.#tensor(inputs[name] as InputTensor));
      const given = [names, BigUint64Array.from(values), names.length];
      const wanted = [this.#outputNames, outputs.length, outputs];
      await native.callAside('run', this.#session, runOptions, ...given, ...wanted);
      return Object.fromEntries(this.#outputNames.map((name, index) => [name, this.#read(outputs[index] as bigint)]));
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', terminate);
      for (const value of [...values, ...outputs]) if (value) native.free('releaseValue', value);
      native.free('releaseRunOptions', runOptions);
      this.#running -= 1;
      this.#freeWhenDone();
    }
  }

  /** Takes effect after running calls. */
  release(): void {
    this.#released = true;
    this.#freeWhenDone();
  }

  #freeWhenDone(): void {
    if (!this.#released || this.#running > 0 || this.#freed) return;
    this.#freed = true;
    this.#native.free('releaseSession', this.#session);
  }

  /** In memory of the library, so that it never reads ours. */
  #tensor({ data, shape }: InputTensor): Pointer {
    const count = shape.reduce((product, length) => product * length, 1);
    if (count !== data.length) {
      throw new Error(`a tensor of shape ${shape.join('×')} has ${count} numbers, not ${data.length}`);
    }
    const native = this.#native;
    const dimensions = BigInt64Array.from(shape, BigInt);
    const type = data instanceof Float32Array ? float32 : int64;
    const value = native.made('createTensor', native.made('allocator'), dimensions, shape.length, type);
    if (count === 0) return value;
    const memory = this.#memory(value, data.byteLength);
    if (data instanceof Float32Array) new Float32Array(memory).set(data);
    else new BigInt64Array(memory).set(data);
    return value;
  }

  #read(value: Pointer): Tensor {
    const native = this.#native;
    const kind = native.made('typeAndShape', value);
    try {
      const elements = new Int32Array(1);
      native.call('elementType', kind, elements);
      if (elements[0] !== float32) throw new Error(`the network gives numbers of type ${elements[0]}, not float32`);
      const dimensions = new BigInt64Array(Number(native.made('dimensionCount', kind)));
      native.call('dimensions', kind, dimensions, dimensions.length);
      const shape = Array.from(dimensions, Number);
      const count = shape.reduce((product, length) => product * length, 1);
      return { shape, data: count > 0 ? new Float32Array(this.#memory(value, 4 * count)).slice() : new Float32Array() };
    } finally {
      native.free('releaseTypeAndShape', kind);
    }
  }

  #memory(value: Pointer, bytes: number): ArrayBuffer {
    return this.#native.view(this.#native.made('tensorData', value), bytes);
  }
}
