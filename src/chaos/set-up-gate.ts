/**
 * Keeps the start of processes out of the scripts: starting a dozen of them loads a small machine
 * so much that leases of scripts already under way run out.
 */

export class SetUpGate {
  #settingUp = 0;
  #waiting: (() => void)[] = [];

  /** One more execution sets up. Call `leave` once, whatever becomes of it. */
  enter(): void {
    this.#settingUp += 1;
  }

  leave(): void {
    this.#settingUp -= 1;
    if (this.#settingUp > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when nobody sets up. */
  async quiet(): Promise<void> {
    if (this.#settingUp === 0) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
