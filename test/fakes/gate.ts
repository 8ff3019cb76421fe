/** Something that is waited for until a test says so. Opened once, it stays open. */
export class Gate {
  readonly opened: Promise<void>
  open!: () => void

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.opened = promise
    this.open = resolve
  }
}
