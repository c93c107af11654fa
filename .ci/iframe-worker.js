// A page that is opened from a disk may start no worker. There, workers are scripts in hidden frames, which is all that
// the search of the site needs: `postMessage` and `message` in both directions.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.waiting = [];
      this.frame.srcdoc = "<!doctype html><script>postMessage = (data) => parent.postMessage(data, '*')<\/script>";
      this.frame.onload = () => {
        this.frame.onload = null;
        const script = this.frame.contentDocument.createElement("script");
        script.src = new URL(address, location.href).href;
        script.onload = () => {
          const messages = this.waiting;
          this.waiting = null;
          for (const data of messages) this.postMessage(data);
        };
        this.frame.contentDocument.head.append(script);
      };
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        event.stopImmediatePropagation();
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}
